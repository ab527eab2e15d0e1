import { AsyncResource } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import type { JobFollower, JobRecord } from '../pool/jobs/job.js'
import type { Job } from '../pool/types.js'
import { MAX_TIMER } from '../util/limits.js'
import { clearTimeout } from '../util/node-time.js'
import type { LogLine } from '../wire/messages.js'
import type { TaskOptions } from '../worker/tasks/define-task.js'
import type { SpentRevocation } from './admission/revocations.js'
import type { TaskRuns } from './collections/run-times.js'
import { ACKNOWLEDGE, type Counts, type Delivery, type HistoryEntry, type JobHeaders, type RunRecord, type Settlement } from './delivery.js'
import { DeliveryGoneError } from './errors.js'
import type { JobMessage } from './message/job.js'
import { withHistory } from './message/serialized-error.js'
import type { WorkerCounts } from './report/report.js'
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
  /** Its delivery is gone, and it had not begun or was to run again. The next consumer of the message runs it. */
  | 'gone'
  | 'requeue'
  /** It waits for a worker while another node may have one free. */
  | 'held'
  | 'expired'
  | 'revoked'
  /** The node shuts down and its grace period is over. */
  | 'killed'

/**
 * 'preparing' (its body is decoded and its task looked up) → 'waiting' (for a rate limit) → 'submitted' (to the pool) → 'done' (its
 * outcome is known, or its deliveries are gone). A job that was withdrawn and delivered again goes back to 'preparing'.
 */
export type ActiveJobPhase = 'preparing' | 'waiting' | 'submitted' | 'done'

/** Shared by the jobs without deliveries or history, which are nearly all jobs. */
const NO_DELIVERIES: readonly Delivery[] = []
const NO_HISTORY: readonly HistoryEntry[] = []

/** Receives what the pool reports of a job. An interface, because its one implementer (`Completion`) imports this file. */
export interface ActiveJobObserver {
  began(job: ActiveJob, worker: number): void
  succeeded(job: ActiveJob, value: unknown): void
  ended(job: ActiveJob, poolJob: Job, error: unknown, resultUnsendable: boolean): void
  retried(job: ActiveJob, worker: number, reason: string): void
  progressed(job: ActiveJob, value: unknown): void
  logged(job: ActiveJob, worker: number, lines: readonly LogLine[]): void
}

/**
 * One delivered job until its outcome is known. It is an AsyncResource: everything that follows from its outcome runs in the async
 * context of its delivery, where a tracer's parent span is.
 */
export class ActiveJob extends AsyncResource implements JobFollower {
  readonly #observer: ActiveJobObserver
  /** The message id, or a generated one. It is also the job's id in the pool. */
  readonly id: string
  /** `Delivery.key`, or the queue and the message id, or the generated id. No two active jobs share it. */
  readonly key: string
  /** No other job ever has this key. */
  readonly hasUniqueKey: boolean
  /** See `identityOf`. Undefined without a message id and a key, and when no later delivery can be this job. */
  readonly identity: string | undefined
  /** The deliveries that the job's settlement settles: several if it was delivered again while it ran, none if their channels are gone. */
  deliveries: Delivery[]
  /** The last of `deliveries`, when all are gone and the job still takes up capacity. It is reported as ended when the job ends. */
  representative: Delivery | undefined
  /** Deliveries of other jobs under the same key. They are admitted when this job is over. */
  waitingDeliveries: readonly Delivery[] = NO_DELIVERIES
  readonly counts: Counts
  /** Times that its message came back for a reason that this node does not know. */
  returned: number
  readonly headers: JobHeaders
  readonly queue: string
  readonly keepsAnswer: boolean
  readonly endWhenGone: boolean
  readonly results: Delivery['results']
  readonly about: Delivery['about']
  readonly deadline: number | undefined
  /** How often the job has begun here. */
  beginnings = 0
  phase: ActiveJobPhase = 'preparing'
  message: JobMessage | undefined
  target: Target | undefined
  poolJob: JobRecord | undefined
  historyEntry: TaskEntry | undefined
  /** The rate limits have let the job pass. */
  rateChecked = false
  /** The job runs on `worker` at present. */
  running = false
  worker: number | undefined
  /** Of that worker, to which its outcome is added. */
  workerCounts: WorkerCounts | undefined
  /** The job has begun on this node, possibly on a worker that has died since. */
  hasBegun = false
  /** When the last run of the job began, ms since the epoch; 0 before the first. */
  startedAt = 0
  /** The run times of its task, while a run of the job is measured. */
  runs: TaskRuns | undefined
  /** When that run began, ms on the clock of `performance.now()`. */
  runsSince = 0
  /** Runs on this node whose worker died. */
  losses = 0
  /** Entries that are added to the message's history when the job is settled. */
  newHistory: readonly HistoryEntry[] = NO_HISTORY
  intent: Intent | undefined
  /** A revocation has met the job: it does not begin, and is not tried again. */
  isRevoked = false
  /** The revocation that the job has met, if other jobs may have its key. Other nodes are told of it when the job is settled. */
  spent: SpentRevocation | undefined
  /** The revocation also ends a running job. */
  terminate = false
  /** Withdraws the job from the pool at its expiry. */
  expiry: NodeJS.Timeout | undefined

  constructor(delivery: Delivery, observer: ActiveJobObserver, generateId: () => string) {
    super('prefork.ActiveJob')
    this.#observer = observer
    // Publishers that set no message id all send the empty one.
    const id = delivery.id === '' ? undefined : delivery.id
    this.id = id ?? generateId()
    const key = delivery.key ?? (id === undefined ? undefined : derivedKey(delivery.queue, id))
    this.key = key ?? this.id
    this.hasUniqueKey = delivery.key !== undefined
    this.identity = delivery.comesOnce === true ? undefined : identityOf(key, delivery.counts)
    this.keepsAnswer = delivery.keepsAnswer === true
    this.endWhenGone = delivery.endWhenGone === true
    this.results = delivery.results
    this.about = delivery.about
    this.deadline = delivery.deadline
    this.deliveries = [delivery]
    this.counts = delivery.counts
    this.returned = delivery.returned ?? 0
    this.headers = delivery.headers
    this.queue = delivery.queue
  }

  get name(): string {
    return this.message?.task ?? '(not decoded)'
  }

  /** ms until it must not begin any more. Undefined: it may begin at any time. */
  get beginsWithin(): number | undefined {
    const { deadline } = this
    const { expiresAt } = this.headers
    if (deadline === undefined) return expiresAt === undefined ? undefined : expiresAt - Date.now()
    return Math.min(deadline - performance.now(), expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - Date.now())
  }

  get expired(): boolean {
    const within = this.beginsWithin
    return within !== undefined && within <= 0
  }

  /** Runs whose worker died, those of earlier deliveries included. */
  get totalLosses(): number {
    return this.counts.losses + this.losses
  }

  /** It waits for nothing but a worker: submitted to the pool, and never begun here. */
  get waitsForWorker(): boolean {
    return this.phase === 'submitted' && this.beginnings === 0 && this.intent === undefined && this.poolJob?.accepted === false
  }

  /** ms: the longest delay before another delivery. */
  get maxDelay(): number {
    return this.deliveries[0]?.maxDelay ?? MAX_TIMER
  }

  /** ms since its last run began; 0 before the first. */
  get duration(): number {
    return this.startedAt === 0 ? 0 : Date.now() - this.startedAt
  }

  /** The run that an event ends. There is no such run if the death of its worker was reported before, or if the job never began. */
  get lastRun(): { readonly worker: number | undefined; readonly duration: number } {
    return this.running ? { worker: this.worker, duration: this.duration } : { worker: undefined, duration: 0 }
  }

  /** Ends the run of the job. `intent` then decides its settlement. */
  endRun(intent: Intent, error: Error): void {
    this.intent = intent
    this.poolJob!.cancel(error)
  }

  endRunIfSubmitted(intent: Intent, error: Error): void {
    if (this.phase === 'submitted') this.endRun(intent, error)
  }

  /** Takes it back from the pool if it has not begun. `intent` then decides its settlement. */
  withdraw(intent: Intent): void {
    if (this.poolJob === undefined || this.hasBegun) return
    this.intent ??= intent
    void this.poolJob.withdraw()
  }

  /** Its deliveries are gone: takes it back from the pool unless it runs. One whose worker died is not to run again here. */
  withdrawGone(): void {
    if (this.phase !== 'submitted' || this.running || this.deliveries.length > 0) return
    this.intent ??= 'gone'
    this.poolJob?.withdrawUnlessRunning(new DeliveryGoneError())
  }

  /** It was taken back, and has been delivered again meanwhile: it is admitted anew. */
  prepareAgain(): void {
    this.hasBegun = false
    // Its new delivery was told of the run that it found.
    this.beginnings = this.running ? 1 : 0
    this.running = false
    this.poolJob = undefined
    this.phase = 'preparing'
  }

  // ---- reports of the pool

  began(poolJob: Job, worker: number): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.began, this.#observer, this, worker)
  }

  succeeded(poolJob: Job, value: unknown): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.succeeded, this.#observer, this, value)
  }

  ended(poolJob: Job, error: unknown, resultUnsendable: boolean): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.ended, this.#observer, this, poolJob, error, resultUnsendable)
  }

  retried(poolJob: Job, worker: number, reason: string): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.retried, this.#observer, this, worker, reason)
  }

  progressed(poolJob: Job, value: unknown): void {
    if (this.poolJob === poolJob) this.runInAsyncScope(this.#observer.progressed, this.#observer, this, value)
  }

  logged(poolJob: Job, worker: number, lines: readonly LogLine[]): void {
    if (this.poolJob === poolJob) this.#observer.logged(this, worker, lines)
  }

  /** A limit of no option is what the deadline left: a limit's error then names what ends at the deadline. */
  nameDeadline(error: unknown): void {
    const { poolJob, deadline, deliveries } = this
    if (deadline === undefined || poolJob === undefined || !(error instanceof Error)) return
    const { limits, spec } = poolJob
    const { code } = error as { code?: unknown }
    const cutShort =
      code === 'ERR_PREFORK_SOFT_TIME_LIMIT' ? limits.softLimit !== spec.softLimit : code === 'ERR_PREFORK_TIME_LIMIT' && limits.hardLimit !== spec.hardLimit
    if (cutShort) error.message = `${error.message.replace(/\.?$/, '.')} That is what was left of ${deliveries[0]?.deadlineOf ?? 'the time of its delivery'}.`
  }

  addHistory(entry: HistoryEntry): void {
    this.newHistory = [...this.newHistory, entry]
  }

  /** A run has ended with its worker. `reason`: for the history. */
  addLoss(node: string, reason: string): void {
    this.running = false
    this.losses++
    this.addHistory({ attempt: this.counts.attempt, at: Date.now(), node, outcome: 'lost', error: reason })
    if (this.historyEntry === undefined) return
    this.historyEntry.record.counts = { ...this.counts, losses: this.totalLosses }
    this.historyEntry.record.attempts = this.record?.history
  }

  /** What its end adds to what the broker knows. Undefined: nothing, as for nearly every job. */
  get record(): RunRecord | undefined {
    if (this.newHistory.length === 0) return undefined
    return { counts: { ...this.counts, losses: this.totalLosses }, history: withHistory(this.headers.history, ...this.newHistory) }
  }

  /** The settlement of a job that is not tried again, with its record where there is one. */
  recordedAs(kind: 'acknowledge' | 'revoked'): Settlement {
    const { record } = this
    if (record !== undefined) return { kind, record }
    return kind === 'acknowledge' ? ACKNOWLEDGE : { kind }
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

/** Separates key and counts. A key that contains it is always followed by its counts, so that no two identities are the same. */
const BEFORE_COUNTS = '\0'

/** The queue with its length, so that no two pairs give the same key. */
const derivedKey = (queue: string, id: string): string => `${queue.length}:${queue}:${id}`

/**
 * Identifies one job to be run, to recognise its redelivery. A retry, a republication and a `dlq retry` each change one of the counts, so
 * such a delivery runs. Undefined without a key: such a redelivery is not recognised.
 */
export const identityOf = (key: string | undefined, { attempt, losses, requeues, unknownFor = 0 }: Counts): string | undefined => {
  if (key === undefined) return undefined
  // Nearly every message: no string is built, and every map uses the same string, whose hash is computed once.
  if (attempt === 1 && losses === 0 && requeues === 0 && unknownFor === 0 && !key.includes(BEFORE_COUNTS)) return key
  return `${key}${BEFORE_COUNTS}${attempt}.${losses}.${requeues}.${unknownFor}`
}
