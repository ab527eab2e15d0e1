import { PreforkError } from '../../wire/errors.js'

/** What INFO says, under the server's names. */
export interface ServerInfo {
  readonly now: string
  readonly server_utc_time: string
  readonly faktory: {
    /** Jobs by queue. */
    readonly queues: Readonly<Record<string, number>>
    /** Jobs by set; `working`: those that workers hold. */
    readonly sets: Readonly<Record<'dead' | 'retries' | 'scheduled' | 'working', number>>
    readonly tasks: Readonly<Record<string, Readonly<Record<string, number>>>>
    readonly total_enqueued: number
    readonly total_failures: number
    readonly total_processed: number
    readonly total_queues: number
  }
  readonly server: {
    readonly description: string
    readonly faktory_version: string
    /** s */
    readonly uptime: number
    readonly connections: number
    readonly command_count: number
    readonly used_memory_mb: number
  }
}

/** Throws PreforkError: the answer is no object. */
export const readInfo = (answer: string | null): ServerInfo => readObject('INFO', answer) as unknown as ServerInfo

/** The object of an answer. Throws PreforkError. */
export const readObject = (verb: string, answer: string | null): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(answer ?? 'null')
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Refused below.
  }
  throw new PreforkError('ERR_PREFORK_FAKTORY', `Faktory answered ${verb} with no object: ${JSON.stringify(answer?.slice(0, 100))}.`)
}
