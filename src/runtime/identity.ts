import type { Counts } from './delivery.js'

/**
 * What one delivery of work is recognised by: a retry, a republication and a `dlq retry` each change one of the counts, and do
 * run. Undefined without a message id: nothing is recognised then.
 */
export const identityOf = (id: string | undefined, { attempt, losses, requeues }: Counts): string | undefined =>
  id === undefined ? undefined : `${attempt}.${losses}.${requeues}.${id}`
