import type { HistoryEntry } from '../../runtime/delivery.js'

/** A job that is not tried again, except by an operator. */
export interface DeadLetterRecord {
  /** Undefined: its message has none, and it cannot be named. */
  readonly id: string | undefined
  /** Undefined: its message cannot be read. */
  readonly task: string | undefined
  readonly queue: string
  readonly reason: string
  /** Name and message of its error. */
  readonly error: string
  readonly stack: string | undefined
  /** ms since the epoch. */
  readonly at: number | undefined
  readonly node: string | undefined
  readonly attempt: number
  readonly losses: number
  /** The runs that failed or were lost, newest last. */
  readonly attempts: readonly HistoryEntry[]
  /** As text, bounded. Undefined: not shown. */
  readonly arguments: string | undefined
}

/** The dead letters of a broker. Whoever opens a dashboard passes it: a dashboard loads no broker. */
export interface DeadLetters {
  /**
   * Reads the dead letters of these queues, the oldest first, at most `limit` in all; they stay where they are. `queues`: empty for the broker's
   * own choice. Where the broker cannot list them, it resolves with their number.
   */
  read(queues: readonly string[], limit: number): Promise<readonly DeadLetterRecord[] | number>
  /** Sends dead letters back to their queues: those with these ids, or all that are there now. Resolves with how many went. */
  retry(queues: readonly string[], ids: readonly string[] | 'all'): Promise<number>
}
