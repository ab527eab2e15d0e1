import { clearTimeout, setTimeout } from './node-time.js'
/**
 * Resolves or rejects with `promise`; after `ms` it resolves with what `onTimeout` returns, or rejects with what it throws.
 * The timer is cleared in either case. `promise` goes on: it cannot be cancelled, and a later rejection of it is ignored.
 */
export const withTimeout = async <T, U = T>(promise: PromiseLike<T>, ms: number, onTimeout: () => U): Promise<T | U> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  }).then(onTimeout)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A promise with the functions that settle it. */
export const deferred = <T = void>() => {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((...settle) => {
    ;[resolve, reject] = settle
  })
  return { promise, resolve, reject }
}
