/**
 * Node's own timers and clocks. Test runners replace the globals of these names, and what `process` and `node:timers` have of them: what
 * the package waits for must pass all the same. They are taken when the package is loaded. Sources use no others, which `biome.json` and
 * `scripts/ci-structure.js` enforce.
 */
import { hrtime as exportedHrtime, nextTick as exportedNextTick } from 'node:process'
import * as timers from 'node:timers'

export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = timers

/**
 * jest gives each test file a context of its own, with a copy of `process` whose functions it replaces; the original is in the main context.
 * Elsewhere the functions of the original may be replaced, and the module exports those that it had at first.
 */
const realProcess = (): Pick<NodeJS.Process, 'nextTick' | 'hrtime'> => {
  const isMainContext = timers.setTimeout instanceof Function
  return isMainContext ? { nextTick: exportedNextTick, hrtime: exportedHrtime } : process.getBuiltinModule('node:vm').runInThisContext('process')
}

export const { nextTick, hrtime } = realProcess()

/** ms of the machine's monotonic clock: the same in all threads and processes. (The first use of `performance` loads modules of Node, 0.7 ms of a start.) */
export const monotonic = (): number => {
  const [seconds, nanoseconds] = hrtime()
  return seconds * 1e3 + nanoseconds / 1e6
}

const resolved = Promise.resolve()

/** In place of `queueMicrotask`, which no module exports. An error of `fn` is an unhandled rejection. */
export const microtask = (fn: () => void): void => void resolved.then(fn)
