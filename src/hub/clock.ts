// Node's global of that name is made when it is first used: that takes 2 ms of the first pool's start.
import { performance } from 'node:perf_hooks'

/** Whether the hub keeps its process alive. */
export interface HostLife {
  keep(): void
  letGo(): void
  /** Leaves nothing behind. */
  end(): void
}

/** Where the hub gets its time from. The simulation passes its own. */
export interface Clock {
  /** ms on a monotonic clock: setting the machine's clock back moves no deadline. */
  now(): number
  /** Calls `fn` once, `ms` from now; never keeps the process alive. */
  setTimer(fn: () => void, ms: number): unknown
  clearTimer(handle: unknown): void
  /** Calls `fn` after the loop has polled its descriptors once more; keeps the process alive until then. */
  afterPoll(fn: () => void): void
  hostLife(): HostLife
}

const LONG = 0x7fff_ffff

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
  hostLife() {
    // One timer for good, kept or let go: a pool that is used now and then would make and clear one for each job.
    let timer: NodeJS.Timeout | undefined
    return {
      keep: () => {
        timer ??= setInterval(() => {}, LONG)
        timer.ref()
      },
      letGo: () => void timer?.unref(),
      end: () => clearInterval(timer),
    }
  },
}
