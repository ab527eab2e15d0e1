import { setTimeout as sleep } from 'node:timers/promises'

/** ms that the broker has to accept or refuse the connection before the probe is started. */
const CONNECT_WAIT = 500

/**
 * Resolves when the broker is connected. If that takes longer than `wait` ms, `probe` runs meanwhile, once. Rejects if the probe rejects: a
 * task module that cannot be loaded is reported at once, not only when the broker is back. The probe's signal aborts when the broker
 * refuses the connection.
 */
export const connectOrProbe = async (connect: () => Promise<void>, probe: (refused: AbortSignal) => Promise<void>, wait = CONNECT_WAIT): Promise<void> => {
  const connected = new AbortController()
  const refused = new AbortController()
  const probed = sleep(wait, true, { signal: connected.signal }).then(
    () => probe(refused.signal),
    () => {},
  )
  const failed = new Promise<never>((_resolve, reject) => void probed.catch(reject))
  try {
    await Promise.race([connect(), failed])
  } catch (error) {
    refused.abort()
    throw error
  } finally {
    connected.abort()
  }
  // The workers are started after the probe has ended: a task module may hold a port or a lock.
  await probed
}

const NETWORK_CODES = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']

/** Error codes of a task module that needs the same broker, or a database that is starting too. A start timeout can mean that it waits for one of them. */
const TRANSIENT_CODES = new Set([...NETWORK_CODES, 'ERR_PREFORK_BROKER', 'ERR_PREFORK_START_TIMEOUT'])

/** Whether the worker may have failed to start because of another service that is down. Then the node goes on waiting for the broker. */
export const isTransient = (error: unknown, depth = 0): boolean => {
  if (typeof error !== 'object' || error === null || depth > 8) return false
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown }
  if (typeof code === 'string' && TRANSIENT_CODES.has(code)) return true
  return isTransient(cause, depth + 1) || (Array.isArray(errors) && errors.some((each) => isTransient(each, depth + 1)))
}
