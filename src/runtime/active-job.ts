import { AsyncResource } from 'node:async_hooks'
import type { JobFollower } from '../pool/jobs/job.js'
import type { Job } from '../pool/types.js'
import type { TaskOptions } from '../worker/tasks/define-task.js'
import type { Counts, Delivery, HistoryEntry, JobHeaders } from './delivery.js'
import type { JobMessage } from './message/job.js'
import type { TaskEntry } from './report/task-history.js'

/** The task that the pool runs for a message. */
export interface Target {
  readonly name: string
  readonly args: readonly unknown[]
  /** The options given to `defineTask`. */
  readonly options: TaskOptions
}

/** Why this node withdrew or ended a job. It decides the settlement. */
export type Intent =
  /** Its delivery is gone and it had not begun. The next consumer of the message runs it. */
  | 'gone'
  | 'requeue'
  | 'expired'
  | 'revoked'
  /** The node shuts down and its grace period is over. */
  | 'killed'

/**
 * 'preparing' (its body is decoded and its task looked up) → 'waiting' (for a rate limit) → 'submitted' (to the pool) → 'done' (its
 * outcome is known, or its deliveries are gone). A job that was withdrawn and delivered again goes back to 'preparing'.
 */
export type ActiveJobPhase = 'preparing' | 'waiting' | 'submitted' | 'done'

/** Shared by the jobs that have none, which is nearly all of them. */
const NO_DELIVERIES: readonly Delivery[] = []
const NO_HISTORY: readonly HistoryEntry[] = []

/** Receives what the pool reports of a job. An interface, because its one implementer (`Completion`) imports this file. */
export interface ActiveJobObserver {
  began(job: ActiveJob, worker: number): void
  succeeded(job: ActiveJob, value: unknown): void
  ended(job: ActiveJob, poolJob: Job, error: unknown, returned: boolean): void
}

/**
 * One delivered job until its outcome is known. It is an AsyncResource: everything that follows from its outcome runs in the async
 * context of its delivery, where a tracer's parent span is.
 */
export class ActiveJob extends AsyncResource implements JobFollower {
  readonly #observer: ActiveJobObserver
  /** The message id, or a generated one. It is also the job's id in the pool. */
  readonly id: string
  /** See `identityOf`. Undefined without a message id. */
  readonly identity: string | undefined
  /** The deliveries that its settlement settles: several when it was delivered again while it ran, none when their channels are gone. */
  deliveries: Delivery[]
  /** The last of `deliveries` when all are gone and the job still takes up capacity: it is reported as ended when the job is. */
  representative: Delivery | undefined
  /** Deliveries of other jobs under the same message id. They are admitted when this job is over. */
  waitingDeliveries: readonly Delivery[] = NO_DELIVERIES
  readonly counts: Counts
  readonly headers: JobHeaders
  readonly queue: string
  phase: ActiveJobPhase = 'preparing'
  message: JobMessage | undefined
  target: Target | undefined
  poolJob: Job | undefined
  historyEntry: TaskEntry | undefined
  /** The rate limits have let it pass. */
  rateChecked = false
  /** It runs on `worker` at present. */
  running = false
  worker: number | undefined
  /** It has begun on this node, possibly on a worker that has died since. */
  hasBegun = false
  /** When its last run began, ms since the epoch; 0 before the first. */
  startedAt = 0
  /** Runs on this node whose worker died. */
  losses = 0
  /** Entries that are added to the message's history if it is published again. */
  newHistory: readonly HistoryEntry[] = NO_HISTORY
  intent: Intent | undefined
  /** The revocation also ends a running job. */
  terminate = false
  /** Withdraws it from the pool at its expiry. */
  expiry: NodeJS.Timeout | undefined

  constructor(delivery: Delivery, observer: ActiveJobObserver, generateId: () => string) {
    super('prefork.ActiveJob')
    this.#observer = observer
    // An empty message id is that of every publisher that sets none.
    const id = delivery.id === '' ? undefined : delivery.id
    this.id = id ?? generateId()
    this.identity = identityOf(id, delivery.counts)
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

  /** Runs whose worker died, those of earlier deliveries included. */
  get totalLosses(): number {
    return this.counts.losses + this.losses
  }

  // ---- reports of the pool

  began(poolJob: Job, worker: number): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.began, this.#observer, this, worker)
  }

  succeeded(poolJob: Job, value: unknown): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.succeeded, this.#observer, this, value)
  }

  ended(poolJob: Job, error: unknown, returned: boolean): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.ended, this.#observer, this, poolJob, error, returned)
  }

  addHistory(entry: HistoryEntry): void {
    this.newHistory = [...this.newHistory, entry]
  }

  /** Returns `waitingDeliveries` and clears it. */
  takeWaitingDeliveries(): readonly Delivery[] {
    const { waitingDeliveries } = this
    this.waitingDeliveries = NO_DELIVERIES
    return waitingDeliveries
  }

  stopTimers(): void {
    if (this.expiry === undefined) return
    clearTimeout(this.expiry)
    this.expiry = undefined
  }
}

/** Separates id and counts. An id that contains it is always followed by its counts, so that no two identities are the same. */
const BEFORE_COUNTS = '\0'

/**
 * Identifies one job to be run, to recognise its redelivery. A retry, a republication and a `dlq retry` each change one of the counts, so
 * they run. Undefined without a message id: such a redelivery is not recognised.
 */
export const identityOf = (id: string | undefined, { attempt, losses, requeues }: Counts): string | undefined => {
  if (id === undefined) return undefined
  // Nearly every message: no string is built, and every map uses the same string, whose hash is computed once.
  if (attempt === 1 && losses === 0 && requeues === 0 && !id.includes(BEFORE_COUNTS)) return id
  return `${id}${BEFORE_COUNTS}${attempt}.${losses}.${requeues}`
}
