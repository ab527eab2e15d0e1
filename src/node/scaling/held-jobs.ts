import type { Runtime } from '../../runtime/runtime.js'
import type { QueueBacklog } from '../broker.js'

/** Where one has waited here so long, all go back, ms. The node looks four times a second, so they are ready for others within one second. */
const HELD_TIME = 750
/** ms until jobs of the same queue go back again where one has come to this node again, as no other has room. The pause doubles up to the longest. */
const FIRST_PAUSE = 1_000
const MAX_PAUSE = 30_000

/** The last time that a queue gave jobs back. */
interface GivenBack {
  /** By their keys. */
  readonly jobs: ReadonlySet<string>
  /** None goes back before this time. */
  readonly until: number
  /** ms */
  readonly pause: number
}

/** Jobs that wait in a node for a worker while their queue has nothing for other nodes: these may be idle. */
export class HeldJobs {
  readonly #runtime: Pick<Runtime, 'giveBackHeld'>
  /** By queue. */
  readonly #last = new Map<string, GivenBack>()

  constructor(runtime: Pick<Runtime, 'giveBackHeld'>) {
    this.#runtime = runtime
  }

  /** Gives them back, and returns how many. `now`: ms on the clock of `performance.now()`. */
  giveBack(backlog: readonly QueueBacklog[], now: number): number {
    const queues = backlog.filter(({ queue, ready, share }) => ready === 0 && share !== 1 && (this.#last.get(queue)?.until ?? 0) <= now)
    let given = 0
    for (const { queue } of queues) {
      const jobs = this.#runtime.giveBackHeld(queue, now - HELD_TIME)
      if (jobs.length > 0) this.#note(queue, jobs, now)
      given += jobs.length
    }
    return given
  }

  #note(queue: string, jobs: readonly string[], now: number): void {
    const last = this.#last.get(queue)
    const cameAgain = last !== undefined && jobs.some((key) => last.jobs.has(key))
    const pause = cameAgain ? Math.min(MAX_PAUSE, Math.max(FIRST_PAUSE, 2 * last.pause)) : 0
    this.#last.set(queue, { jobs: new Set(jobs), until: now + pause, pause })
  }
}
