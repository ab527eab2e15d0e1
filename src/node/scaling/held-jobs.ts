import type { Runtime } from '../../runtime/runtime.js'
import type { QueueBacklog } from '../broker.js'

/** A job that has waited here so long goes back, ms. The node looks four times a second, so the job is ready for others within one second. */
const HELD_TIME = 750
/** ms until jobs of the same queue go back again. They may have come to this node again, as no other has room: the pause doubles up to the longest. */
const FIRST_PAUSE = 1_000
const MAX_PAUSE = 30_000
/** A queue that gave nothing back for so long begins with the first pause again, ms. */
const FORGET_AFTER = 60_000

/** Jobs that wait in a node for a worker while their queue has nothing for other nodes: these may be idle. */
export class HeldJobs {
  readonly #runtime: Pick<Runtime, 'giveBackHeld'>
  /** By queue. */
  readonly #pauses = new Map<string, { until: number; length: number }>()

  constructor(runtime: Pick<Runtime, 'giveBackHeld'>) {
    this.#runtime = runtime
  }

  /** Gives them back, and returns how many. `now`: ms on the clock of `performance.now()`. */
  giveBack(backlog: readonly QueueBacklog[], now: number): number {
    const queues = backlog.filter(({ queue, ready, share }) => ready === 0 && share !== 1 && (this.#pauses.get(queue)?.until ?? 0) <= now)
    let given = 0
    for (const { queue } of queues) {
      const back = this.#runtime.giveBackHeld(queue, now - HELD_TIME)
      if (back > 0) this.#pause(queue, now)
      given += back
    }
    return given
  }

  #pause(queue: string, now: number): void {
    const last = this.#pauses.get(queue)
    const length = last === undefined || now - last.until > FORGET_AFTER ? FIRST_PAUSE : Math.min(MAX_PAUSE, 2 * last.length)
    this.#pauses.set(queue, { until: now + length, length })
  }
}
