/** The tasks of every pool: the same functions, whatever loads them. Each takes one value, for some peers pass no more than that. */
import { threadId } from 'node:worker_threads'

export const noop = () => {}

/** @param {unknown} value */
export const echo = (value) => value

/**
 * Holds its worker for so many ms, without ever yielding.
 * @param {number} ms
 */
export const busy = (ms) => {
  const end = performance.now() + ms
  while (performance.now() < end);
  return ms
}

/** Ends its own worker: the process, or in a pool of threads the thread. */
export const crash = () => {
  if (threadId === 0) process.kill(process.pid, 'SIGKILL')
  process.exit(1)
}

/** The names, for the peers whose workers register them. */
export const tasks = { noop, echo, busy, crash }
