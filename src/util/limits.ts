/** What a node may be asked for at the most: beyond it is a mistake, not a wish. Its options and the command line refuse by the same figures. */
export const LIMITS = {
  workers: 10_000,
  /** Held by one worker; so many run there at once at the most, too. */
  jobsPerWorker: 10_000,
  taskHistory: 1_000_000,
  losses: 1_000,
  attempts: 1_000_000,
} as const
