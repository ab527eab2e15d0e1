import type { NodeOptions } from '../../node/types.js'

const RETRIES = 'Faktory tries a job again by its own rules; its publisher says how often, with `retry`'
const UNKNOWN = 'a job of an unknown task fails, and Faktory tries it again'

/** Options of a node that it cannot keep under Faktory, each with the reason. */
export const UNSUPPORTED: Partial<Readonly<Record<keyof NodeOptions, string>>> = {
  maxAttempts: RETRIES,
  backoff: RETRIES,
  taskDefaults: `${RETRIES}; a rate is limited by the command rate_limit`,
  unknownTask: UNKNOWN,
  unknownTaskTimeout: UNKNOWN,
}

/** Why a node takes no job ahead of its time. */
export const NO_PREFETCH = 'a job that is fetched is reserved for a time that runs. A node fetches as many as it runs: see `concurrency`'
