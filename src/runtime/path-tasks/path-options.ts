import { MAX_TIMER } from '../../util/limits.js'
import type { TaskOptions } from '../../worker/tasks/define-task.js'
import type { RuntimePool } from '../options.js'
import { PATH_OPTIONS, type PathTask } from './task-paths.js'

/** ms in which a worker must load the module. A slower module counts as one without options. */
const LOAD_TIMEOUT = 10_000

/** The `defineTask` options of tasks that are named by their path. A worker loads the module; it is asked once for each task. */
export class PathOptions {
  readonly #pool: RuntimePool
  readonly #known = new Map<string, Promise<TaskOptions>>()

  constructor(pool: RuntimePool) {
    this.#pool = pool
  }

  /** Never rejects: a job of the task meets the same error of the module and reports it. */
  of({ module, export: name }: PathTask): Promise<TaskOptions> {
    const key = `${module}#${name}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const options = this.#ask(module, name).catch(() => {
      this.#known.delete(key)
      return {}
    })
    this.#known.set(key, options)
    return options
  }

  async #ask(module: string, name: string): Promise<TaskOptions> {
    const options = (await this.#pool.submit(PATH_OPTIONS, [module, name], { timeLimit: LOAD_TIMEOUT }).result) as TaskOptions
    for (const limit of ['timeLimit', 'softTimeLimit'] as const) {
      // `defineTask` accepts longer limits than a call does.
      if (options[limit] !== undefined) options[limit] = Math.min(options[limit], MAX_TIMER)
    }
    return options
  }

  /** A worker has started: it loads the modules as they are now. */
  clear(): void {
    this.#known.clear()
  }
}
