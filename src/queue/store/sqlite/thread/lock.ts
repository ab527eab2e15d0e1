/** The waits of a thread for the lock of another process: short and random, so that all get their turn. SQLite's own handler lets some wait for seconds. */
import { RESULT, resultCode } from '../database/node-sqlite.js'

/** Whether another process holds the lock. */
export const isBusy = (error: unknown): boolean => {
  const code = resultCode(error)
  return code === RESULT.BUSY || code === RESULT.LOCKED
}

const nothing = new Int32Array(new SharedArrayBuffer(4))

/** Blocks this thread for 0.2 to 0.8 ms. */
export const wait = (): void => {
  Atomics.wait(nothing, 0, 0, 0.2 + 0.6 * Math.random())
}

/** Tries in one turn of the event loop: after them the thread looks at its sockets. */
const TRIES = 25

/** Calls `attempt` until it is true, with waits. False: it never was; it is to be tried again in another turn. */
export const tryRepeatedly = (attempt: () => boolean): boolean => {
  for (let tries = 1; ; tries++) {
    if (attempt()) return true
    if (tries === TRIES) return false
    wait()
  }
}

/** ms until the next turn: a lock that is held for long is looked at less often. */
export const nextTurnAfter = (lockedFor: number): number => (lockedFor < 1_000 ? 1 : 10)
