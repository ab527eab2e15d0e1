import type { Backoff } from '../util/backoff.js'
import { microtask } from '../util/node-time.js'
import type { Calls } from '../worker/current-job.js'
import type { JobMessage } from './message/job.js'

export type { Backoff }

/** How often a message has been tried. Each republication raises one of the counts, so id and counts together identify one job to be run. */
export interface Counts {
  /** Counts from 1; a retry after a failure adds one. */
  readonly attempt: number
  /** Runs whose worker died, as counted by earlier deliveries. */
  readonly losses: number
  /** Republications without a run: a job put back, a `dlq retry`, a redelivery that the broker does not count. */
  readonly requeues: number
  /** ms that it has waited for a node that knows its task: the sum of these delays, so that no two clocks are compared. Absent: 0. */
  readonly unknownFor?: number
}

/** One entry of a message's history: how an earlier run ended. The list is bounded, newest last. */
export interface HistoryEntry {
  readonly attempt: number
  /** ms since the epoch. */
  readonly at: number
  readonly node: string
  readonly outcome: 'failed' | 'hard_timeout' | 'soft_timeout' | 'memory_limit' | 'lost' | 'unknown_task' | 'requeued'
  /** Name and message of the error, cut to 500 characters. Of a run that was lost: with which worker or node it ended, and why. */
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

/** The counts and the history of a job, those of this delivery included. */
export interface RunRecord {
  readonly counts: Counts
  readonly history: readonly HistoryEntry[]
}

/** How a delivery is settled. */
export type Settlement =
  /** Remove the message. `record`: runs were lost under this delivery before the one that succeeded; a broker that keeps ended jobs keeps it with them. */
  | { readonly kind: 'acknowledge'; readonly record?: RunRecord }
  /** An operator revoked the job: it did not run, or was ended. Remove the message; a broker that records outcomes records this one. */
  | { readonly kind: 'revoked'; readonly record?: RunRecord }
  /**
   * The job did not begin: return the message to its queue unchanged. `uncounted`: it waited in this node while others may have been free. That may happen
   * often, so the broker must not count it as a return (`Delivery.returned`).
   */
  | { readonly kind: 'requeue'; readonly uncounted?: boolean }
  /** Publish it again (confirmed) after `delay` ms with these counts and history, then acknowledge. */
  | {
      readonly kind: 'republish'
      readonly why: RepublishReason
      /** The error of the run, or the reason why there was none. */
      readonly error: SerializedError
      readonly delay: number
      readonly counts: Counts
      readonly history: readonly HistoryEntry[]
    }
  /** Publish it to the dead letters (confirmed) with the reason, then acknowledge. */
  | {
      readonly kind: 'dead-letter'
      readonly reason: DeadReason
      readonly error: SerializedError
      /** For a broker that `retries`: the task has said that the job must not be tried again, whatever the rules of the broker are. */
      readonly noRetry?: true
      /** The final counts, losses on this node included. */
      readonly counts: Counts
      readonly history: readonly HistoryEntry[]
    }

export const ACKNOWLEDGE: Settlement = { kind: 'acknowledge' }

/** 'lost': its worker died. 'untried': it did not begin here, for a reason that is not its own. */
export type RepublishReason = 'failed' | 'lost' | 'unknown_task' | 'untried'

/** 'dependency': a job that it depended on did not succeed; for brokers that know dependencies. */
export type DeadReason = 'failed' | 'lost' | 'undecodable' | 'unknown_task' | 'expired' | 'refused' | 'redelivered' | 'dependency'

/** An error as it is stored with a message, readable in any language. */
export interface SerializedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
}

/** How a job has ended, for a broker that keeps answers. The value is not encoded: brokers differ in how they store it. */
export type JobAnswer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: SerializedError }

export interface SettleResult {
  /** The broker took the settlement. False: the delivery's channel was gone, and the broker delivers the message again; or the broker, which `retries`, does with it what it does. */
  readonly settled: boolean
  /** The broker confirmed the republication or dead letter, whether or not the acknowledgement reached it. */
  readonly published: boolean
  /** The broker took no settlement, as it has none for this: the job stays with it until its reservation ends. */
  readonly left?: true
}

/** Calls `delivery.ended` in a microtask, because a broker may deliver the next message in that call. */
export const notifyEnded = (delivery: Delivery): void => {
  if (delivery.ended !== undefined) microtask(() => delivery.ended?.())
}

/**
 * A message delivered to this node and not yet settled. The broker creates it, the runtime settles it exactly once. A broker with leases
 * renews them itself until the settlement.
 */
export interface Delivery {
  /** The publisher's message id; an empty one counts as none. Without an id and a key, a redelivery is not recognised. */
  readonly id: string | undefined
  /**
   * Names this job and no other, ever; it stays the same through retries and dead letters. Recognition and revocation go by it. Default the
   * queue and the id, which a publisher may use again.
   */
  readonly key?: string | undefined
  /** True: no later delivery has this key, so that the outcome need not be remembered. Absent: the broker may deliver the job again. */
  readonly comesOnce?: boolean
  readonly queue: string
  readonly body: Buffer
  /** Gives the content, where the broker has read it or knows another form: `body` is not looked at then. Throws UndecodableError. */
  decode?(): JobMessage
  readonly headers: JobHeaders
  readonly counts: Counts
  /**
   * Whether the broker has delivered the message before, to any consumer. False: it has not, so this is a new message even if its id has
   * run before. Undefined: the broker does not report it.
   */
  readonly redelivered: boolean | undefined
  /**
   * How often the message has come back without having been settled, since it was published or last tried: its node died, or lost its
   * connection. A job that comes back again and again runs alone, and is given up after more. What is requeued need not count. Absent: 0.
   */
  readonly returned?: number
  /** The broker does not count redeliveries, so the runtime republishes a redelivered message with `requeues` + 1 before it runs. */
  readonly countedHere: boolean
  /** Aborts when the channel or lease of the delivery is gone: a settlement would be dropped, and the broker delivers the message again. */
  readonly gone: AbortSignal
  /** True: `settle` gets the answer too, to store both at once, and `reply` is not called. The outcome of such a job is not remembered. */
  readonly keepsAnswer?: boolean
  /**
   * True: a job that runs is cancelled, and its worker ended after `cancelGrace`, when `gone` aborts and no other delivery of it is held. It counts
   * towards the capacity until its task has ended. What the task throws then counts for nothing; a value that it still returns is its outcome. A run that
   * an operator or a shutdown ends is settled only when its task has ended, too.
   */
  readonly endWhenGone?: boolean
  /**
   * ms on the clock of `performance.now()`: each run of the job must have ended by then, as the broker hands it to somebody else, without telling. It is asked to
   * stop one `cancelGrace` earlier. Smaller limits win. A job that has not begun by then does not begin. Absent: what has begun may take as long as its limits allow.
   */
  readonly deadline?: number
  /** What ends at `deadline`, for messages. Default 'the time of its delivery'. */
  readonly deadlineOf?: string
  /** ms: the longest delay of a republication that the broker can keep. Absent: 2,147,483,647 (24.8 days). */
  readonly maxDelay?: number
  /** True: what the broker does with a job that is given up is to forget it: no dead letter of it is kept. Absent: one is. */
  readonly isForgotten?: boolean
  /** More fields of `currentJob().delivery`, by which the broker describes the job to its task. */
  readonly about?: Readonly<Record<string, unknown>>
  /** What the jobs that it depended on returned, by their ids. In the task: `currentJob().delivery.results`. */
  readonly results?: Readonly<Record<string, unknown>>
  /**
   * Functions that the task may call: `await currentJob().call('log', 'half')`. Own properties only, as in the option `calls` of the pool; their names
   * are read when the job goes to the pool. A job that is delivered again while it runs calls those of the delivery that it holds, or of the last one
   * when all are gone: such a function looks at `gone` itself. Called without `this`, in the async context of the first delivery.
   */
  readonly calls?: Calls
  /**
   * Settles the delivery. `answer` is given where `keepsAnswer` is set and the job has ended. Rejects when the broker refuses a publication
   * or cannot store the settlement, never because the channel is gone. An error with a property `transient: true` (a store that is full or
   * locked) says that it passes: the settlement is tried again for as long as the delivery is not gone. Any other is tried a few times,
   * then the delivery is requeued. Returns a plain value where nothing has to be awaited: a promise for each acknowledgement costs throughput.
   */
  settle(settlement: Settlement, answer?: JobAnswer): SettleResult | Promise<SettleResult>
  /**
   * Called once for a delivery that is gone and unsettled, when it takes up no capacity any more: its job has ended, never began, or goes on
   * for another delivery of the same job. A broker with a lease for each job counts the delivery until then, so that it never takes more
   * jobs than can run. Absent in brokers whose deliveries go together with their channel.
   */
  ended?(): void
  /**
   * Called before a job that came back again and again is decoded and begins, alone in its node: it may end the node in its first moments, before `began`
   * is stored. The job waits until the promise resolves. When it rejects, the job is requeued.
   */
  beforeBegin?(): Promise<unknown>
  /**
   * The job has begun, for the `beginnings`th time under this delivery: more than once when its worker died and it ran again. `history`: then, with the runs that
   * were lost. Not waited for.
   */
  began?(beginnings: number, history?: readonly HistoryEntry[]): void
  /** The task has reported progress. Not waited for. */
  progress?(value: unknown): void
  /** Sends the reply to `replyTo`; does not wait for a consumer of it. Does nothing without `replyTo`. */
  reply(body: Buffer, headers: { ok: boolean }): Promise<void>
}
