import { randomBytes } from 'node:crypto'
import type { PoolEvents } from '../pool/types.js'
import { ActiveJob } from './active-job.js'
import { Admission, knownTasks } from './admission/admission.js'
import type { RememberedRevocations, RevocationTarget, SpentRevocation } from './admission/revocations.js'
import type { RunTimes } from './collections/run-times.js'
import { Completion } from './completion.js'
import { type Delivery, notifyEnded } from './delivery.js'
import { DeliveryGoneError, RevokedError } from './errors.js'
import { type RuntimeOptions, type RuntimePool, runtimeSettings } from './options.js'
import type { NodeStats, TaskRecord, WorkerCounts } from './report/report.js'
import { RuntimeState } from './runtime-state.js'
import type { Outcome } from './settler.js'

const NO_JOBS: WorkerCounts = { succeeded: 0, failed: 0, retried: 0 }

/** The result of a revocation. */
export type Revocation =
  /** The job had not begun and does not run. */
  | 'revoked'
  /** The job runs and is being ended. */
  | 'terminated'
  /** The job runs and goes on. If it fails, this node does not retry it. */
  | 'running'
  /** The job is not here. If it is delivered later, it does not run. */
  | 'remembered'

/**
 * The life of a delivered job, the same for every broker: admission, the run on the pool, and a settlement once its outcome is
 * known. The output of tasks is reported only when the pool was created with `output: 'capture'`.
 */
export class Runtime {
  readonly #state: RuntimeState
  readonly #admission: Admission
  readonly #completion: Completion
  /** Starts the ids of jobs whose messages have none. */
  readonly #idPrefix = randomBytes(4).toString('hex')
  #number = 0
  #emptied: (() => void)[] = []
  readonly #unlisten: () => void

  constructor(pool: RuntimePool, options: RuntimeOptions) {
    const settings = runtimeSettings(options)
    this.#state = new RuntimeState(pool, settings, (job) => this.#channelGone(job))
    this.#completion = new Completion(this.#state, {
      readmit: (job) => this.#admission.check(job),
      began: (job) => this.#admission.began(job),
      released: (job) => this.#released(job),
    })
    this.#admission = new Admission(this.#state, this.#completion, (job) => this.#requeueUnbegun({ except: job }))
    for (const [task, { rateLimit }] of Object.entries(settings.taskDefaults)) if (rateLimit !== undefined) this.#state.limits.set('task', task, rateLimit)
    this.#unlisten = this.#listen(pool)
  }

  /** Takes a delivered message. It is settled when its outcome is known, and never before. */
  receive(delivery: Delivery): void {
    this.#state.totals.received++
    this.#admit(delivery)
  }

  #admit(delivery: Delivery): void {
    const { active, channels, settler } = this.#state
    if (delivery.gone.aborted) {
      notifyEnded(delivery)
      return
    }
    const arrived = new ActiveJob(delivery, this.#completion, () => `${this.#idPrefix}-${++this.#number}`)
    const outcome = this.#rememberedOutcome(arrived, delivery)
    if (outcome !== undefined) {
      this.#state.totals.recognised++
      this.#state.log?.info({ job: arrived.id, counts: arrived.counts, settlement: outcome.settlement.kind }, 'delivery recognised: its job has ended here')
      settler.settle([delivery], outcome)
      return
    }
    const present = active.get(arrived.key)
    if (present !== undefined) {
      // The same job does not run twice. Another job under the same key waits until the key is free.
      if (this.#isRedeliveryOf(present, arrived, delivery)) this.#join(present, delivery)
      else present.waitingDeliveries = [...present.waitingDeliveries, delivery]
      channels.watch(delivery.gone)
      return
    }
    active.add(arrived.key, arrived)
    if (active.size > this.#state.peakActive) this.#state.peakActive = active.size
    channels.watch(delivery.gone)
    this.#admission.enter(arrived)
  }

  #join(job: ActiveJob, delivery: Delivery): void {
    job.deliveries.push(delivery)
    if (job.running) this.#state.callHooks({ id: job.id, deliveries: [delivery] }, 'began', 1)
    if (job.representative !== undefined) notifyEnded(job.representative)
    job.representative = undefined
  }

  /**
   * The remembered outcome of a job that ended here and was delivered again because its acknowledgement did not reach the broker.
   * The broker marks such a delivery as redelivered. A delivery without that mark is a new message and runs.
   */
  #rememberedOutcome({ identity }: ActiveJob, { redelivered }: Delivery): Outcome | undefined {
    const { finished, ambiguous } = this.#state
    const outcome = identity === undefined ? undefined : finished.get(identity)
    if (identity === undefined || outcome === undefined || redelivered !== false) return outcome
    finished.delete(identity)
    // The earlier delivery may still be redelivered.
    if (outcome.settling !== undefined) ambiguous.set(identity, true)
    return undefined
  }

  /** Whether `delivery` brings the job that is here already once more. */
  #isRedeliveryOf(present: ActiveJob, { identity }: ActiveJob, { redelivered }: Delivery): boolean {
    const { ambiguous } = this.#state
    if (identity === undefined || present.identity !== identity) return false
    // A broker that keeps the cancellation delivers the job again only when somebody lets it run anew.
    if (present.isRevoked && present.keepsAnswer) return false
    if (redelivered === false) ambiguous.set(identity, true)
    // A message taken for the other of two would be acknowledged without a run. So both run.
    return !ambiguous.has(identity)
  }

  /** The channel of one or more of the job's deliveries is gone. The broker delivers them again, here or elsewhere. */
  #channelGone(job: ActiveJob): void {
    const lost = job.deliveries.filter(({ gone }) => gone.aborted)
    job.deliveries = job.deliveries.filter(({ gone }) => !gone.aborted)
    this.#admission.deliveriesGone(job, lost.length)
    const { waitingDeliveries } = job
    job.waitingDeliveries = waitingDeliveries.filter(({ gone }) => !gone.aborted)
    // One of them represents the job as long as the job takes up capacity.
    if (job.deliveries.length === 0) job.representative = lost.pop() ?? job.representative
    for (const each of [...lost, ...waitingDeliveries.filter(({ gone }) => gone.aborted)]) notifyEnded(each)
    if (job.deliveries.length > 0) return
    // A job that runs goes on, and its outcome is remembered.
    // One whose worker died does not run: its end could not be undone, should it be delivered here again.
    if (job.phase === 'submitted' && job.running && job.endWhenGone) job.endRun('gone', new DeliveryGoneError())
    else if (job.phase === 'submitted') job.withdrawGone()
    else if (job.phase !== 'done') this.#completion.forget(job)
  }

  #released(job: ActiveJob): void {
    this.#admission.leave(job)
    for (const delivery of job.takeWaitingDeliveries()) this.#admit(delivery)
    if (this.#state.active.size === 0 && this.#emptied.length > 0) for (const resolve of this.#emptied.splice(0)) resolve()
  }

  // ---- events of the pool

  #listen(pool: RuntimePool): () => void {
    const exited = ({ worker }: PoolEvents['workerExit']): void => {
      this.#state.byWorker.delete(worker)
    }
    const started = (): void => this.#state.pathOptions.clear()
    pool.on('workerUp', started)
    pool.on('workerExit', exited)
    return () => {
      pool.off('workerUp', started)
      pool.off('workerExit', exited)
    }
  }

  // ---- commands of an operator

  /**
   * The job with this key, or the first with this id that is here or is delivered from now on, does not begin on this node. With
   * `terminate`, a running one is ended.
   */
  async revoke(target: RevocationTarget, terminate = false): Promise<Revocation> {
    const { active, revocations } = this.#state
    const { id, queue, key } = target
    const isMeant = (each: ActiveJob): boolean => (key === undefined ? each.id === id && (queue ?? each.queue) === each.queue : each.key === key)
    const job = active.values().find((each) => each.phase !== 'done' && isMeant(each))
    if (job === undefined) {
      revocations.add(target)
      return 'remembered'
    }
    revocations.applyAtOnce(target, job)
    return await this.#revokeHere(job, terminate)
  }

  /** The job is here, and a revocation has met it. */
  async #revokeHere(job: ActiveJob, terminate: boolean): Promise<Revocation> {
    if (job.phase !== 'submitted') {
      if (job.message !== undefined || this.#admission.waitsUndecoded(job)) this.#completion.revoked(job)
      return 'revoked'
    }
    job.terminate = terminate
    if (job.hasBegun) {
      if (!terminate) return 'running'
      job.endRun('revoked', new RevokedError())
      return 'terminated'
    }
    job.intent = 'revoked'
    if (await job.poolJob!.withdraw()) return 'revoked'
    return terminate ? 'terminated' : 'running'
  }

  /** A revocation by id has met its job on another node. */
  revocationSpent(spent: SpentRevocation): void {
    this.#state.revocations.spent(spent)
  }

  /** What `revoke` has been told and no job of this node or another has used up: for a node that starts. */
  get revocations(): RememberedRevocations {
    return this.#state.revocations.remembered
  }

  /** Another node's revocations. A job that they mean and that is here already is revoked as by `revoke` without `terminate`. */
  addRevocations(remembered: RememberedRevocations): void {
    const { active, revocations } = this.#state
    revocations.merge(remembered)
    for (const job of active.values()) if (job.phase !== 'done' && !job.isRevoked && revocations.apply(job)) void this.#revokeHere(job, false)
  }

  /** Sets or lifts (null) the rate limit of a task or queue: '10/s', '600/m', '1000/h'. `byBroker`: the broker limits the claims. Throws RangeError for another form. */
  rateLimit(scope: 'task' | 'queue', name: string, limit: string | null, byBroker = false): void {
    this.#state.limits.set(scope, name, limit, byBroker)
    this.#admission.limitsChanged()
  }

  /** Requeues every job that has not begun. Nothing begins until `resume`. */
  pause(): void {
    if (this.#state.phase === 'open') this.#state.phase = 'paused'
    this.#requeueUnbegun()
  }

  /** Requeues every job of a queue that has not begun. Others begin. */
  giveBack(queue: string): void {
    this.#requeueUnbegun({ queue })
  }

  resume(): void {
    if (this.#state.phase === 'paused') this.#state.phase = 'open'
  }

  /** The jobs that nothing but the want of a worker holds back: how many of each task, and how long the first of them has waited, ms. */
  waiting(now: number): { readonly jobs: ReadonlyMap<string, number>; readonly longest: number } {
    const jobs = new Map<string, number>()
    let longest = 0
    for (const job of this.#state.active.values()) {
      if (!job.waitsForWorker) continue
      jobs.set(job.name, (jobs.get(job.name) ?? 0) + 1)
      longest = Math.max(longest, now - job.poolJob!.spec.submittedAt)
    }
    return { jobs, longest }
  }

  /** The most jobs that the node held at once since the last call. */
  takePeakHeld(): number {
    const state = this.#state
    const { peakActive } = state
    state.peakActive = state.active.size
    return peakActive
  }

  /** Requeues all jobs of a queue that wait for a worker, if one has waited since `since`, ms on the clock of `performance.now()`. Returns their keys. */
  giveBackHeld(queue: string, since: number): string[] {
    const held = this.#state.active.values().filter((job) => job.waitsForWorker && job.queue === queue)
    if (!held.some((job) => job.poolJob!.spec.submittedAt <= since)) return []
    for (const job of held) job.withdraw('held')
    return held.map(({ key }) => key)
  }

  /** How long the tasks run. */
  get runTimes(): RunTimes {
    return this.#state.runTimes
  }

  get stats(): { totals: NodeStats['totals']; held: number; rateLimits: Record<string, string> } {
    return { totals: { ...this.#state.totals }, held: this.#state.unsettled, rateLimits: this.#state.limits.list() }
  }

  /** The jobs of a live worker by outcome, as `totals` counts them. */
  countsOf(worker: number): Readonly<WorkerCounts> {
    return this.#state.byWorker.get(worker) ?? NO_JOBS
  }

  /** The most recent jobs, oldest first. `id`: only those with this id. */
  records(id?: string): TaskRecord[] {
    return this.#state.tasks.records(id)
  }

  /** The names of the tasks that a message may use. */
  get tasks(): string[] {
    return knownTasks(this.#state)
  }

  // ---- shutdown

  /** Requeues every job that has not begun, and every delivery that still arrives. This cannot be undone. */
  release(): void {
    this.#state.phase = 'closing'
    this.#requeueUnbegun()
  }

  /** Resolves when no job is active. */
  async empty(): Promise<void> {
    if (this.#state.active.size > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve))
  }

  /** Ends the running jobs without settling them. `settleKilled` settles them once the workers are gone. */
  kill(): void {
    for (const job of this.#state.active.values()) {
      if (job.phase !== 'submitted' || job.intent === 'revoked' || (job.intent === 'gone' && job.hasBegun)) continue
      job.intent = 'killed'
      job.poolJob!.cancel(new Error('The node shuts down.'))
    }
  }

  /** Settles the killed jobs as lost ones. Returns how many there were. */
  settleKilled(): number {
    return this.#completion.settleKilled()
  }

  /** Resolves when each settlement has reached the broker or was given up. With `noRetries`, no settlement is tried again. */
  async settled(noRetries = false): Promise<void> {
    if (noRetries) this.#state.settler.stopRetrying()
    await this.#state.settler.idle()
  }

  /** Deliveries requeued so far. */
  get requeued(): number {
    return this.#state.settler.requeued
  }

  /** Deliveries so far that had not begun, and that the broker could not take back. */
  get left(): number {
    return this.#state.settler.left
  }

  /** Removes its listeners from the pool. */
  close(): void {
    this.#unlisten()
  }

  #requeueUnbegun({ except, queue }: { except?: ActiveJob; queue?: string } = {}): void {
    for (const job of this.#state.active.values()) {
      if (queue !== undefined && job.queue !== queue) continue
      for (const delivery of job.takeWaitingDeliveries()) {
        this.#state.channels.forget(delivery.gone)
        this.#state.settler.settle([delivery], { settlement: { kind: 'requeue' }, remembered: false, reply: undefined, settling: undefined })
      }
      if (job === except || job.phase === 'done') continue
      if (job.phase === 'submitted') job.withdraw('requeue')
      else if (job.message !== undefined || this.#admission.waitsUndecoded(job)) this.#completion.requeue(job)
    }
  }
}
