/** How often a message has been tried; each republication raises one of them, so id and counts together name one delivery of work. */
export interface Counts {
  /** Counts from 1; a retry after a failure adds one. */
  readonly attempt: number
  /** Times the job began on a worker that died, as far as earlier deliveries know. */
  readonly losses: number
  /** Times it was published again without having been tried: a put-back, a `dlq retry`, a redelivery that the broker does not count. */
  readonly requeues: number
}

/** One line of what became of a job before; travels with it, newest last, bounded. */
export interface HistoryEntry {
  readonly attempt: number
  /** ms since the epoch. */
  readonly at: number
  readonly node: string
  readonly outcome: 'failed' | 'hard_timeout' | 'soft_timeout' | 'memory_limit' | 'lost' | 'unknown_task' | 'requeued'
  /** Name and message of the error, cut to 500 characters. */
  readonly error: string
}

/** What the message says besides its body. Times in milliseconds. */
export interface JobHeaders {
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** Absent on the wire means 1. */
  readonly schemaVersion: number
  readonly softTimeLimit: number | undefined
  readonly timeLimit: number | undefined
  /** Attempts altogether, the first included. */
  readonly maxAttempts: number | undefined
  readonly backoff: Backoff | undefined
  readonly retryLost: number | undefined
  readonly priority: number | undefined
  /** ms since the epoch after which the job must not begin. */
  readonly expiresAt: number | undefined
  readonly correlationId: string | undefined
  readonly replyTo: string | undefined
  readonly history: readonly HistoryEntry[]
}

/** The wait before attempt n + 1. ms; `jitter` is a share of the wait, 0 to 1, taken off at random. */
export interface Backoff {
  readonly kind: 'fixed' | 'exponential'
  readonly delay: number
  readonly maxDelay?: number
  readonly jitter?: number
}

/** What becomes of a delivery. Nothing else ends one: no outcome is acknowledged and dropped. */
export type Settlement =
  /** Done with: remove it. */
  | { readonly kind: 'acknowledge' }
  /** It did not begin: give it back as it is. */
  | { readonly kind: 'requeue' }
  /** Publish it again (confirmed) after `delay` ms with these counts and history, then acknowledge. */
  | { readonly kind: 'republish'; readonly delay: number; readonly counts: Counts; readonly history: readonly HistoryEntry[] }
  /** Publish it to the dead letters (confirmed) with the reason, then acknowledge. */
  | {
      readonly kind: 'dead-letter'
      readonly reason: DeadReason
      readonly error: SerializedError
      /** What is known at its end: losses on this node included. */
      readonly counts: Counts
      readonly history: readonly HistoryEntry[]
    }

export type DeadReason = 'failed' | 'lost' | 'undecodable' | 'unknown_task' | 'expired' | 'refused' | 'redelivered'

/** An error as it is stored beside a message: readable in any language. */
export interface SerializedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
}

export interface SettleResult {
  /** The broker took it. False: the delivery's generation had gone, and the message comes back. */
  readonly settled: boolean
  /** The republication or dead letter was confirmed, whether or not the acknowledgement reached the broker. */
  readonly published: boolean
}

/** In a moment of its own: the broker may hand over the next one then. */
export const notifyEnded = (delivery: Delivery): void => {
  if (delivery.ended !== undefined) queueMicrotask(() => delivery.ended?.())
}

/**
 * A message handed to this node, not yet settled. A broker makes it; the runtime settles it exactly once. Brokers that hand
 * out leases renew them from delivery to settlement by themselves.
 */
export interface Delivery {
  /** The publisher's message id, an empty one counting as none; without one a redelivery cannot be recognised. Only deliveries that may be redeliveries are. */
  readonly id: string | undefined
  readonly queue: string
  readonly body: Buffer
  readonly headers: JobHeaders
  readonly counts: Counts
  /**
   * The broker has handed it out before, to whomever. False: certainly not, so that it is a message of its own, whatever ran under
   * its id. Undefined: the broker cannot tell, and it may have.
   */
  readonly redelivered: boolean | undefined
  /** The broker does not count redeliveries itself: the runtime must republish a redelivered message with `requeues` + 1 before it runs. */
  readonly countedHere: boolean
  /** Aborts when what delivered it (a channel, a lease) is gone: its settlement would be dropped, and the message is handed out again. */
  readonly gone: AbortSignal
  /**
   * Never rejects for a generation that has gone; rejects only when the broker refuses the publication. Answers at once where
   * nothing is to be waited for: a promise for each acknowledgement would be felt.
   */
  settle(settlement: Settlement): SettleResult | Promise<SettleResult>
  /**
   * Called once for a delivery that is gone and that no settlement was answered for, when it takes up no room here any more: its job has
   * ended, or never began, or goes on for another delivery of the same job. A broker with a lease for each job counts until then what
   * it has handed over, so that never more is taken than there is room to run. Absent where all that one channel has delivered is
   * gone with it: what runs is taken back at once then, and recognised.
   */
  ended?(): void
  /** Sends the answer to `replyTo`, without waiting for anybody to take it. A no-op without `replyTo`. */
  reply(body: Buffer, headers: { ok: boolean }): Promise<void>
}
