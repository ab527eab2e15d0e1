/** What the stores know of a wall clock that is set. */
import { hrtime } from '../../util/node-time.js'
import type { NewJob } from './store.js'

/** A jump of the wall clock that is larger moves what waits for a relative time, ms. Smaller ones are corrections. */
export const JUMP = 5_000

/** ms of a clock that nobody sets, and that all threads and processes share until the next boot. */
export const monotonicNow = (): number => Number(hrtime.bigint() / 1_000n) / 1_000

/** The wall clock at one moment. */
export interface ClockReading {
  /** ms since the epoch. */
  readonly now: number
  /** What it is ahead of the monotonic clock, ms: another value at a later moment says that it was set meanwhile. */
  readonly offset: number
}

export const readClock = (): ClockReading => {
  const now = Date.now()
  return { now, offset: now - monotonicNow() }
}

/** `runAt` of a new job. A delay that was asked for before the wall clock jumped moves with it. `offset`: that of the store's own reading. */
export const runAtOf = ({ runAt, relative, clockOffset }: NewJob, offset: number): number | undefined => {
  if (runAt === undefined || !relative || clockOffset === undefined) return runAt
  const jump = offset - clockOffset
  return Math.abs(jump) <= JUMP ? runAt : Math.round(runAt + jump)
}

/** Sees the jumps of the wall clock, for a store that only one process uses. */
export class JumpDetector {
  #offset: number | undefined

  /** The jump since the last call, ms; 0: none. `monotonic`: of any clock that nobody sets. */
  jump(wall: number, monotonic: number): number {
    const offset = wall - monotonic
    const jump = offset - (this.#offset ?? offset)
    if (this.#offset !== undefined && Math.abs(jump) <= JUMP) return 0
    this.#offset = offset
    return Math.round(jump)
  }
}
