import { monotonic, setTimeout } from '../../util/node-time.js'
import { residentMemoryBesideTasks } from '../io/resident-memory.js'
import type { Lifeline } from './lifeline.js'
import type { MainThread } from './main-thread.js'
import { type SharedRecords, Time } from './shared-records.js'

/** How long the main thread's event loop may take to turn to a ping, ms, before the heartbeat reports the age of its last turn. */
const TURN_WAIT = 20

/**
 * ms until a worker's next heartbeat. The workers of one host send theirs together, so that it wakes once for all of them;
 * the workers of different hosts do not. A timer that fires early causes no second heartbeat.
 */
export const untilBeat = (now: number, interval: number, host: number): number => {
  const left = interval - ((now + host * 37) % interval)
  return left < interval / 8 ? left + interval : left
}

/** Sends a HEARTBEAT at each interval: resident memory, CPU time, the oldest running job, and whether the main thread's event loop turns. */
export const startHeartbeats = (lifeline: Lifeline, main: MainThread, records: SharedRecords, interval: number): void => {
  const send = (turnAge: number): void => lifeline.heartbeat(residentMemoryBesideTasks(), turnAge, records.oldestDelivery())
  const beatIn = (ms: number): void => {
    setTimeout(() => {
      const turn = main.ping()
      setTimeout(() => send(main.hasTurned(turn) ? 0 : monotonic() - records.times[Time.TURNED_AT]!), TURN_WAIT)
      beatIn(untilBeat(monotonic(), interval, process.ppid))
    }, ms)
  }
  send(0)
  // One has just been sent, so the next need not come before an interval has passed.
  const first = untilBeat(monotonic(), interval, process.ppid)
  beatIn(first > interval ? first - interval : first)
}
