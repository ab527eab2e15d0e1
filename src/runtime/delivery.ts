/** How often a message has been tried. Each republication raises one of the counts, so id and counts together identify one job to be run. */
export interface Counts {
  /** Counts from 1; a retry after a failure adds one. */
  readonly attempt: number
  /** Runs whose worker died, as counted by earlier deliveries. */
  readonly losses: number
  /** Republications without a run: a job put back, a `dlq retry`, a redelivery that the broker does not count. */
  readonly requeues: number
}

/** One entry of a message's history: how an earlier run ended. The list is bounded, newest last. */
export interface HistoryEntry {
  readonly attempt: number
  /** ms since the epoch. */
  readonly at: number
  readonly node: string
  readonly outcome: 'failed' | 'hard_timeout' | 'soft_timeout' | 'memory_limit' | 'lost' | 'unknown_task' | 'requeued'
  /** Name and message of the error, cut to 500 characters. */
  readonly error: string
}

/** The headers of a message. Times in milliseconds. */
export interface JobHeaders {
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** Absent on the wire means 1. */
  readonly schemaVersion: number
  readonly softTimeLimit: number | undefined
  readonly timeLimit: number | undefined
  /** Attempts in total, the first included. */
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

/** How a delivery is settled. */
export type Settlement =
  /** Remove the message. */
  | { readonly kind: 'acknowledge' }
  /** The job did not begin: return the message to its queue unchanged. */
  | { readonly kind: 'requeue' }
  /** Publish it again (confirmed) after `delay` ms with these counts and history, then acknowledge. */
  | { readonly kind: 'republish'; readonly delay: number; readonly counts: Counts; readonly history: readonly HistoryEntry[] }
  /** Publish it to the dead letters (confirmed) with the reason, then acknowledge. */
  | {
      readonly kind: 'dead-letter'
      readonly reason: DeadReason
      readonly error: SerializedError
      /** The final counts, losses on this node included. */
      readonly counts: Counts
      readonly history: readonly HistoryEntry[]
    }

export type DeadReason = 'failed' | 'lost' | 'undecodable' | 'unknown_task' | 'expired' | 'refused' | 'redelivered'

/** An error as it is stored with a message, readable in any language. */
export interface SerializedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
}

export interface SettleResult {
  /** The broker took the settlement. False: the delivery's channel was gone, and the broker delivers the message again. */
  readonly settled: boolean
  /** The broker confirmed the republication or dead letter, whether or not the acknowledgement reached it. */
  readonly published: boolean
}

/** Calls `delivery.ended` in a microtask, because a broker may deliver the next message in that call. */
export const notifyEnded = (delivery: Delivery): void => {
  if (delivery.ended !== undefined) queueMicrotask(() => delivery.ended?.())
}

/**
 * A message delivered to this node and not yet settled. The broker creates it, the runtime settles it exactly once. A broker with leases
 * renews them itself until the settlement.
 */
export interface Delivery {
  /** The publisher's message id; an empty one counts as none. Without an id, a redelivery is not recognised. */
  readonly id: string | undefined
  readonly queue: string
  readonly body: Buffer
  readonly headers: JobHeaders
  readonly counts: Counts
  /**
   * Whether the broker has delivered the message before, to any consumer. False: it has not, so this is a new message even if its id has
   * run before. Undefined: the broker does not report it.
   */
  readonly redelivered: boolean | undefined
  /** The broker does not count redeliveries, so the runtime republishes a redelivered message with `requeues` + 1 before it runs. */
  readonly countedHere: boolean
  /** Aborts when the channel or lease of the delivery is gone: a settlement would be dropped, and the broker delivers the message again. */
  readonly gone: AbortSignal
  /**
   * Settles the delivery. Rejects only when the broker refuses a publication, never because the channel is gone. Returns a plain value
   * where nothing has to be awaited: a promise for each acknowledgement costs throughput.
   */
  settle(settlement: Settlement): SettleResult | Promise<SettleResult>
  /**
   * Called once for a delivery that is gone and unsettled, when it takes up no capacity any more: its job has ended, never began, or goes on
   * for another delivery of the same job. A broker with a lease for each job counts the delivery until then, so that it never takes more
   * jobs than can run. Absent in brokers whose deliveries go together with their channel.
   */
  ended?(): void
  /** Sends the reply to `replyTo`; does not wait for a consumer of it. Does nothing without `replyTo`. */
  reply(body: Buffer, headers: { ok: boolean }): Promise<void>
}
