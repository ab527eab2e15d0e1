/** In place of `src/util/node-time.ts` in the bundle of the simulation: the globals, which clock.ts replaces. */
export { hrtime, nextTick } from 'node:process'

export const setTimeout: typeof globalThis.setTimeout = ((...args: Parameters<typeof globalThis.setTimeout>) => globalThis.setTimeout(...args)) as never
export const setInterval: typeof globalThis.setInterval = ((...args: Parameters<typeof globalThis.setInterval>) => globalThis.setInterval(...args)) as never
export const setImmediate: typeof globalThis.setImmediate = ((...args: Parameters<typeof globalThis.setImmediate>) => globalThis.setImmediate(...args)) as never
export const clearTimeout: typeof globalThis.clearTimeout = (timer) => globalThis.clearTimeout(timer)
export const clearInterval: typeof globalThis.clearInterval = (timer) => globalThis.clearInterval(timer)
export const clearImmediate: typeof globalThis.clearImmediate = (timer) => globalThis.clearImmediate(timer)
export const microtask = (fn: () => void): void => queueMicrotask(fn)
