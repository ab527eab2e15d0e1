/** How the run of a job ended that did not succeed: what the pool tells of it, and what the task says by its error. */
import type { ActiveJob } from './active-job.js'

/** How a run ended with its worker, in the words of the pool. Undefined: it did not. */
export const endedWith = ({ poolJob }: Pick<ActiveJob, 'poolJob'>): string | undefined => {
  const outcome = poolJob?.outcome
  return outcome?.state === 'lost' ? outcome.endedWith : undefined
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null | undefined)?.code

/** No worker could be started for the job. */
export const isStartError = (error: unknown): boolean => codeOf(error) === 'ERR_PREFORK_WORKER_START'

/**
 * The task has said that no further attempt can help: by NonRetryableError, which is told by its code, as the class may come from another copy of this package
 * and have subclasses; or by BullMQ's UnrecoverableError, which has no code. Only the error itself counts, not its cause.
 */
export const isNonRetryable = (error: unknown): boolean =>
  error instanceof Error && (codeOf(error) === 'ERR_PREFORK_NON_RETRYABLE' || error.name === 'UnrecoverableError')

/** ms: the delay of a RetryAfterError, told by its code. Undefined: it is another error, or its delay cannot be used. */
export const retryAfterOf = (error: unknown): number | undefined => {
  if (codeOf(error) !== 'ERR_PREFORK_RETRY_AFTER') return undefined
  const { delay } = error as { readonly delay?: unknown }
  return typeof delay === 'number' && delay >= 0 && Number.isFinite(delay) ? Math.ceil(delay) : undefined
}
