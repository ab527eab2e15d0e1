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

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** In units of 1,024 bytes; of 1,000 where the size was given as such, as 500_000 is. */
const unitOf = (bytes: number): 1_000 | 1_024 => (bytes % 1_000 === 0 && bytes % (bytes < 2 ** 20 ? 2 ** 10 : 2 ** 20) !== 0 ? 1_000 : 1_024)

/** A size for people: `500 bytes`, `1.5 KB`, `600 MB`. */
export const sizeText = (bytes: number, base = unitOf(bytes)): string => {
  let value = bytes
  let unit = 0
  for (; value >= base && unit < UNITS.length - 1; unit++) value /= base
  // One decimal below ten, so that 1.5 GB and 2 GB differ.
  const digits = unit > 0 && value < 9.95 ? 1 : 0
  return `${Number(value.toFixed(digits)).toLocaleString('en-US')} ${UNITS[unit]}`
}

/** `300 MB, more than maxMessageSize (256 MB)`. Where both sizes would read the same, it has their bytes. */
export const overText = (bytes: number, name: string, limit: number): string => {
  const rounded = [bytes, limit].map((each) => sizeText(each, unitOf(limit)))
  const [size, max] = rounded[0] === rounded[1] ? [bytes, limit].map((each) => `${each.toLocaleString('en-US')} bytes`) : rounded
  return `${size}, more than ${name} (${max})`
}
