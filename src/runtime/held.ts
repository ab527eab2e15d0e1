import type { Job } from '../pool/types.js'
import type { TaskOptions } from '../worker/define-task.js'
import type { Counts, Delivery, HistoryEntry, JobHeaders } from './delivery.js'
import { identityOf } from './identity.js'
import type { JobMessage } from './message/index.js'
import type { TaskEntry } from './task-book.js'

/** What the pool is to run for a message. */
export interface Target {
  readonly name: string
  readonly args: readonly unknown[]
  /** Those of `defineTask`. */
  readonly options: TaskOptions
}

/** Why a job was taken back or ended by this node: decides what becomes of its message. */
export type Intent =
  /** Its delivery is gone, and it had not begun: whoever gets the message next runs it. */
  | 'gone'
  | 'requeue'
  | 'expired'
  | 'revoked'
  /** The node shuts down and the grace is over. */
  | 'killed'

/**
 * 'preparing' (decoded, looked up) → 'waiting' (for its rate limit) → 'submitted' (with the pool) → 'done' (its outcome is known,
 * or it was forgotten).
 */
export type HeldPhase = 'preparing' | 'waiting' | 'submitted' | 'done'

/** One job in this node's hands, from its delivery until its outcome is known. */
export class Held {
  /** The message id, or one made up where there is none: the pool's id. */
  readonly id: string
  /** Undefined without a message id. */
  readonly identity: string | undefined
  /** Those that wait for its settlement: more than one when it was delivered again while it runs. None: their generations are gone. */
  deliveries: Delivery[]
  /** Deliveries under the same message id that are other work: they come to the gate when this one is over. */
  readonly behind: Delivery[] = []
  readonly counts: Counts
  readonly headers: JobHeaders
  readonly queue: string
  phase: HeldPhase = 'preparing'
  message: JobMessage | undefined
  target: Target | undefined
  job: Job | undefined
  entry: TaskEntry | undefined
  /** It has had its turn under the rate limits. */
  admitted = false
  /** It runs on `worker` now. */
  running = false
  worker: number | undefined
  /** It has begun here, perhaps on a worker that died since. */
  begun = false
  /** ms since the epoch, of its last beginning. */
  startedAt = 0
  /** Times that it began here on a worker that died. */
  losses = 0
  /** What it adds to the message's history, should that travel on. */
  readonly lines: HistoryEntry[] = []
  intent: Intent | undefined
  /** A revocation that also ends it when it runs. */
  terminate = false
  /** Takes it back at its expiry. */
  expiry: NodeJS.Timeout | undefined

  constructor(delivery: Delivery, madeUpId: () => string) {
    this.id = delivery.id ?? madeUpId()
    this.identity = identityOf(delivery.id, delivery.counts)
    this.deliveries = [delivery]
    this.counts = delivery.counts
    this.headers = delivery.headers
    this.queue = delivery.queue
  }

  get name(): string {
    return this.message?.task ?? '(not decoded)'
  }

  get expired(): boolean {
    const { expiresAt } = this.headers
    return expiresAt !== undefined && expiresAt <= Date.now()
  }

  /** Beginnings on workers that died, those of earlier deliveries included. */
  get lossesSoFar(): number {
    return this.counts.losses + this.losses
  }

  stopTimers(): void {
    clearTimeout(this.expiry)
    this.expiry = undefined
  }
}
