import type { Counts } from './delivery.js'

/** Between id and counts. An id that holds it itself is always followed by its counts, so that no two are confused. */
const BEFORE_COUNTS = '\0'

/**
 * What one delivery of work is recognised by: a retry, a republication and a `dlq retry` each change one of the counts, and do
 * run. Undefined without a message id: nothing is recognised then.
 */
export const identityOf = (id: string | undefined, { attempt, losses, requeues }: Counts): string | undefined => {
  if (id === undefined) return undefined
  // Nearly every message: no text is made for it, and all books know it by one, whose hash is reckoned once.
  if (attempt === 1 && losses === 0 && requeues === 0 && !id.includes(BEFORE_COUNTS)) return id
  return `${id}${BEFORE_COUNTS}${attempt}.${losses}.${requeues}`
}
