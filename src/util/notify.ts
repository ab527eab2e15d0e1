import { nextTick } from './node-time.js'

/** Throws `error` in the next tick: it surfaces as an uncaught exception, and the caller's own work is not interrupted. */
export const throwLater = (error: unknown): void => {
  nextTick(() => {
    throw error
  })
}

/** Calls a listener of the application. An error that it throws surfaces as an uncaught exception and reaches no other listener. */
export const notify = <A extends unknown[]>(listener: (...args: A) => void, ...args: A): void => {
  try {
    listener(...args)
  } catch (error) {
    throwLater(error)
  }
}
