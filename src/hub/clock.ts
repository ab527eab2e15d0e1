import { performance } from 'node:perf_hooks'
import { MAX_TIMER } from '../util/limits.js'
import { clearInterval, clearTimeout, nextTick, setImmediate, setInterval, setTimeout } from '../util/node-time.js'

/** Keeps the process alive, or lets it exit. */
export interface KeepAlive {
  hold(): void
  release(): void
  /** Releases it for good. */
  close(): void
}

/** The hub's source of time. The simulation passes its own. */
export interface Clock {
  /** ms on a monotonic clock: setting the machine's clock back moves no deadline. */
  now(): number
  /** Calls `fn` once, `ms` from now; does not keep the process alive. */
  setTimer(fn: () => void, ms: number): unknown
  clearTimer(handle: unknown): void
  /** Calls `fn` after the loop has polled its descriptors once more; keeps the process alive until then. */
  afterPoll(fn: () => void): void
  /** Calls `fn` when the code that runs now has run, before the loop goes on. */
  afterCode(fn: () => void): void
  keepAlive(): KeepAlive
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(fn, ms) {
    const timer = setTimeout(fn, ms)
    timer.unref()
    return timer
  },
  clearTimer: (handle) => clearTimeout(handle as NodeJS.Timeout),
  afterPoll: (fn) => {
    setImmediate(fn)
  },
  afterCode: (fn) => nextTick(fn),
  keepAlive() {
    // One timer, held or released: a pool with a job now and then would otherwise create and clear one for each.
    let timer: NodeJS.Timeout | undefined
    return {
      hold: () => {
        timer ??= setInterval(() => {}, MAX_TIMER)
        timer.ref()
      },
      release: () => void timer?.unref(),
      close: () => clearInterval(timer),
    }
  },
}
