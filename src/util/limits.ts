/** The longest delay of a Node timer, about 24.8 days, ms: `setTimeout` fires at once when it is given more. */
export const MAX_TIMER = 0x7fff_ffff

/** Workers of one pool, at most. More is a mistake of the caller. */
export const MAX_WORKERS = 10_000

/** The largest values that a node's options and the flags of the command line accept. */
export const LIMITS = {
  workers: MAX_WORKERS,
  /** Prefetched jobs of one worker, and its concurrency. */
  jobsPerWorker: 10_000,
  taskHistory: 1_000_000,
  losses: 1_000,
  attempts: 1_000_000,
} as const
