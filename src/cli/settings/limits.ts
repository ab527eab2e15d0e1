import { UsageError } from '../exit.js'

/** Time limits that were typed together, ms. Throws UsageError for a pair of which one is never reached. */
export const checkLimits = ({ softTimeLimit, timeLimit }: { readonly softTimeLimit?: number; readonly timeLimit?: number }): void => {
  if (softTimeLimit !== undefined && timeLimit !== undefined && timeLimit < softTimeLimit)
    throw new UsageError('--time-limit must be at least --soft-time-limit: it ends what the soft limit only asks.')
}
