/** What `defineTask` said of tasks that are named by their path: only a worker that has loaded the module knows, and is asked once. */
import { MAX_MS } from '../../util/checks.js'
import type { TaskOptions } from '../../worker/tasks/define-task.js'
import type { RuntimePool } from '../options.js'
import { PATH_OPTIONS, type PathTask } from './task-paths.js'

/** A module that takes longer to load has no options: the job itself meets it, under limits of its own. ms. */
const LOADING = 10_000

export class PathOptions {
  readonly #pool: RuntimePool
  readonly #known = new Map<string, Promise<TaskOptions>>()

  constructor(pool: RuntimePool) {
    this.#pool = pool
  }

  /** Never rejects: what is wrong with the module, the job meets as well, and tells. */
  of({ module, export: name }: PathTask): Promise<TaskOptions> {
    const key = `${module}#${name}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const asked = this.#ask(module, name).catch(() => {
      this.#known.delete(key)
      return {}
    })
    this.#known.set(key, asked)
    return asked
  }

  async #ask(module: string, name: string): Promise<TaskOptions> {
    const options = (await this.#pool.submit(PATH_OPTIONS, [module, name], { timeLimit: LOADING }).result) as TaskOptions
    for (const limit of ['timeLimit', 'softTimeLimit'] as const) {
      // A call takes no limit as long as `defineTask` does.
      if (options[limit] !== undefined) options[limit] = Math.min(options[limit], MAX_MS)
    }
    return options
  }

  /** A worker has started: it finds the modules as they are by now. */
  forget(): void {
    this.#known.clear()
  }
}
