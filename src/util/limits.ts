/** The longest delay of a Node timer, about 24.8 days, ms: `setTimeout` fires at once when it is given more. */
export const MAX_TIMER = 0x7fff_ffff

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
