import type { LiveFarm } from './model/live-farm.js'
import type { NodeTask } from './model/task-list.js'

/** ms between two reads of a job that runs. */
const INTERVAL = 1_000

/** Keeps what is known of one job up to date while its page is open: events carry neither its output nor its stack. */
export class JobPage {
  readonly #farm: LiveFarm
  readonly #changed: () => void
  /** When the job was last read, and its end then; ms since the epoch. */
  #readAt = 0
  #end: number | undefined

  constructor(farm: LiveFarm, changed: () => void) {
    this.#farm = farm
    this.#changed = changed
  }

  /** Asks the node of the job for it. A node that does not answer changes nothing. */
  read({ node, id, ended }: NodeTask): void {
    this.#readAt = this.#farm.now()
    this.#end = ended
    this.#farm.refreshJob(node, id).then(this.#changed, () => {})
  }

  /** Reads the job again while it runs, and once when it has ended. */
  tick(task: NodeTask): void {
    const isRead = this.#end === task.ended && (task.ended !== undefined || this.#farm.now() - this.#readAt < INTERVAL)
    if (!isRead) this.read(task)
  }
}
