/**
 * The clock and the timers of simulated processes. Code of the store calls `setTimeout`, `Date.now` and the like; a call from within a simulated
 * process gets virtual time, any other the real one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'

/** The process whose code runs. */
export interface TimeContext {
  monotonic(): number
  wall(): number
  random(): number
  /** Runs `fn` after `ms`, unless its process is dead by then. */
  after(ms: number, fn: () => void): void
  /** Blocks the thread. */
  block(ms: number): void
}

export const contexts = new AsyncLocalStorage<TimeContext>()

class SimTimer {
  cancelled = false

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

/** What a callback that is to run at once costs, ms: time passes in a loop of them too. */
const TURN = 0.01

/** As in Node, whose loop counts whole milliseconds: a timer that is set anew several times in one fires at the end of it all the same. */
const untilFired = (context: TimeContext, ms: number): number => {
  const now = context.monotonic()
  return Math.floor(now) + Math.max(1, Math.trunc(ms)) - now
}

const start = (context: TimeContext, fn: () => void, wait: () => number, repeats: boolean): SimTimer => {
  const timer = new SimTimer()
  const fire = (): void => {
    if (timer.cancelled) return
    if (repeats) context.after(wait(), fire)
    fn()
  }
  context.after(wait(), fire)
  return timer
}

/** Replaces the functions of this process that read or wait for time. */
const installClock = (): void => {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, dateNow: Date.now, now: performance.now.bind(performance), random: Math.random }
  const set = timers as unknown as Record<string, unknown>
  set.setTimeout = (fn: () => void, ms = 1): unknown => {
    const context = contexts.getStore()
    return context === undefined ? real.setTimeout(fn, ms) : start(context, fn, () => untilFired(context, ms), false)
  }
  set.setInterval = (fn: () => void, ms = 1): unknown => {
    const context = contexts.getStore()
    return context === undefined ? real.setInterval(fn, ms) : start(context, fn, () => untilFired(context, ms), true)
  }
  set.setImmediate = (fn: () => void): unknown => {
    const context = contexts.getStore()
    return context === undefined ? real.setImmediate(fn) : start(context, fn, () => TURN, false)
  }
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate'] as const) {
    const clear = timers[name] as (timer: unknown) => void
    set[name] = (timer: unknown): void => {
      if (timer instanceof SimTimer) timer.cancelled = true
      else clear(timer)
    }
  }
  Date.now = () => contexts.getStore()?.wall() ?? real.dateNow()
  Math.random = () => contexts.getStore()?.random() ?? real.random()
  Object.defineProperty(performance, 'now', { value: () => contexts.getStore()?.monotonic() ?? real.now() })
  const { wait } = Atomics
  Object.defineProperty(Atomics, 'wait', {
    value: (...args: Parameters<typeof wait>) => {
      const context = contexts.getStore()
      if (context === undefined) return wait(...args)
      context.block(args[3] ?? 0)
      return 'timed-out'
    },
  })
  const { setTimeout: sleep } = timersPromises
  const simSleep = (ms?: number, value?: unknown, options?: { signal?: AbortSignal }): Promise<unknown> => {
    const context = contexts.getStore()
    if (context === undefined) return sleep(ms, value, options)
    return new Promise((resolve, reject) => {
      context.after(ms ?? 1, () => resolve(value))
      options?.signal?.addEventListener('abort', () => reject(options.signal!.reason))
    })
  }
  ;(timersPromises as { setTimeout: unknown }).setTimeout = simSleep
  for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'] as const)
    (globalThis as Record<string, unknown>)[name] = timers[name]
  syncBuiltinESMExports()
}

// Now: the sources take the timers of Node when they are loaded.
installClock()
