/** The tasks of every pool. Each takes one value, as some peers pass no more. */
import { threadId } from 'node:worker_threads'

export const noop = () => {}

/** @param {unknown} value */
export const echo = (value) => value

/**
 * Keeps its worker busy for so many ms without yielding.
 * @param {number} ms
 */
export const busy = (ms) => {
  const end = performance.now() + ms
  while (performance.now() < end);
  return ms
}

/** Ends its worker: the process, or the thread in a pool of threads. */
export const crash = () => {
  if (threadId === 0) process.kill(process.pid, 'SIGKILL')
  process.exit(1)
}

/** The tasks by name, for peers whose workers register them. */
export const tasks = { noop, echo, busy, crash }
