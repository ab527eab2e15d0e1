/** The wait for a broker, in which task modules that cannot be loaded are found out. */
import { setTimeout as sleep } from 'node:timers/promises'

/** ms that a broker has to answer, or to refuse, before anything is started beside it. */
const ANSWER = 500

/**
 * Resolves when the broker is reached. When that takes longer, `trial` is run meanwhile, once: it rejects for what does not pass, and
 * with it the wait. Else whoever made the mistake would hear of it only when the broker is there. Its signal aborts when the broker
 * refuses: nobody wants to know any more.
 */
export const connectOrProbe = async (connect: () => Promise<void>, trial: (refused: AbortSignal) => Promise<void>, answer = ANSWER): Promise<void> => {
  const reached = new AbortController()
  const refused = new AbortController()
  const tried = sleep(answer, true, { signal: reached.signal }).then(
    () => trial(refused.signal),
    () => {},
  )
  const failed = new Promise<never>((_resolve, reject) => void tried.catch(reject))
  try {
    await Promise.race([connect(), failed])
  } catch (error) {
    refused.abort()
    throw error
  } finally {
    reached.abort()
  }
  // One after another: of what a task module may hold (a port, a lock) there may be but one.
  await tried
}

/** What a module meets that wants the very broker that is away, or a database that starts beside it. */
const PASSING = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_PREFORK_BROKER',
  // It may be waiting, as its node is.
  'ERR_PREFORK_START_TIMEOUT',
])

/** Whether a worker that could not be started may be one that somebody else kept from it: then the broker is waited for all the same. */
export const mayPass = (error: unknown, depth = 0): boolean => {
  if (typeof error !== 'object' || error === null || depth > 8) return false
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown }
  if (typeof code === 'string' && PASSING.has(code)) return true
  return mayPass(cause, depth + 1) || (Array.isArray(errors) && errors.some((each) => mayPass(each, depth + 1)))
}
