import type { NodeStats } from '../../runtime/report/report.js'

/** Seconds that are kept. */
export const MAX_SECONDS = 600
/** ms that a sample of a node covers, at least. */
const SAMPLE_TIME = 950

/** Jobs per second between two heartbeats of a node. */
export interface RateSample {
  /** Its end by the clock of this machine, ms since the epoch. */
  readonly at: number
  /** ms */
  readonly span: number
  /** Jobs that succeeded or were given up. */
  readonly ended: number
  /** Of these, those that were given up. */
  readonly failed: number
}

/** The throughput of a node, from the totals in its heartbeats, newest last. */
export class Throughput {
  readonly samples: RateSample[] = []
  #last: { at: number; ended: number; failed: number } | undefined

  /** `at`: by the clock of the node. `now`: by that of this machine. */
  add({ succeeded, failed }: NodeStats['totals'], at: number, now: number): void {
    const ended = succeeded + failed
    const last = this.#last
    // A node that restarted counts from 0. A clock that was set back may need hours to come to where it was.
    if (last === undefined || ended < last.ended || at < last.at) this.#last = { at, ended, failed }
    else if (at - last.at >= SAMPLE_TIME) {
      const perSecond = 1_000 / (at - last.at)
      this.samples.push({ at: now, span: at - last.at, ended: (ended - last.ended) * perSecond, failed: (failed - last.failed) * perSecond })
      if (this.samples.length > MAX_SECONDS) this.samples.shift()
      this.#last = { at, ended, failed }
    }
  }
}
