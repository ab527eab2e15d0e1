/** The longest delay of a Node timer, about 24.8 days, ms: `setTimeout` fires at once when it is given more. */
export const MAX_TIMER = 0x7fff_ffff

/** The largest distance from the epoch that a Date can have, ms (ECMAScript). */
export const MAX_TIME = 8.64e15

/**
 * The hard time limit of a message, ms. A hard limit that is not above the soft limit becomes the soft limit plus 1 s, so that the task has time to react.
 * Only messages are adjusted in this way, because any publisher may write them. In options, `checkLimits` refuses a hard limit below the soft one.
 */
export const hardLimitAbove = (soft: number | undefined, hard: number | undefined): number | undefined =>
  soft !== undefined && hard !== undefined && hard <= soft ? soft + 1_000 : hard

/** Workers of one pool, at most. More is a mistake of the caller. */
export const MAX_WORKERS = 10_000

/** The longest name that a job may be given (`calledAs`), in characters: the path of a file fits. */
export const MAX_JOB_NAME = 4_096

/** The lowest priority that a process can have. */
export const MAX_NICENESS = 19

/** The largest values that a node's options and the flags of the command line accept. */
export const LIMITS = {
  workers: MAX_WORKERS,
  /** Prefetched jobs of one worker, and its concurrency. */
  jobsPerWorker: 10_000,
  taskHistory: 1_000_000,
  losses: 1_000,
  attempts: 1_000_000,
} as const

/** Time limits, ms, 0 for none. */
export interface Limits {
  readonly softLimit: number
  readonly hardLimit: number
}

/** The longest limit that a frame carries, ms. */
const MAX_LIMIT = 0xffff_ffff

/**
 * The limits of an attempt that must have ended `left` ms from now, whatever its own limits allow: the worker is killed then, and the task is asked to
 * stop one `grace` earlier. One attempt after another gets less, as all share one end. `softToKill`: ms after its soft limit that a job without a hard one is
 * killed.
 */
export const limitsWithin = (own: Limits, left: number, { grace, softToKill }: { readonly grace: number; readonly softToKill: number }): Limits => {
  const { softLimit, hardLimit } = own
  const latest = Math.min(MAX_LIMIT, Math.max(1, Math.floor(left)))
  const ask = Math.max(1, latest - grace)
  const ownEnd = hardLimit > 0 ? hardLimit : softLimit > 0 ? softLimit + softToKill : Number.POSITIVE_INFINITY
  if (ownEnd <= ask) return own
  const hard = Math.min(hardLimit > 0 ? hardLimit : latest, latest)
  const soft = softLimit > 0 ? Math.min(softLimit, ask) : ask
  // A soft limit above the hard one would never pass.
  return { softLimit: soft > hard ? 0 : soft, hardLimit: hard }
}
