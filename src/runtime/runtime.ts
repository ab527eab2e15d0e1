import { randomBytes } from 'node:crypto'
import type { PoolEvents } from '../pool/types.js'
import { ActiveJob, type ActiveJobEvents } from './active-job.js'
import { Admission, knownTasks, takeBack } from './admission.js'
import { Completion } from './completion.js'
import { type Delivery, notifyEnded } from './delivery.js'
import { RevokedError } from './errors.js'
import { type RuntimeOptions, type RuntimePool, runtimeSettings } from './options.js'
import type { NodeStats, TaskRecord } from './report/report.js'
import { RuntimeState } from './runtime-state.js'
import type { Outcome } from './settler.js'

/** What became of a revocation. */
export type Revocation =
  /** It had not begun and will not. */
  | 'revoked'
  /** It runs, and is being ended. */
  | 'terminated'
  /** It runs, and goes on; should it fail, it is not tried again here. */
  | 'running'
  /** It is not here: should it come, it will not run. */
  | 'remembered'

/**
 * The life of delivered jobs, whatever broker they come from: through the gate, on the pool, and to a settlement once the
 * outcome is known. The pool must have been made with `output: 'capture'` for the tasks' output to be seen.
 */
export class Runtime {
  readonly #state: RuntimeState
  readonly #gate: Admission
  readonly #endings: Completion
  readonly #madeUp = randomBytes(4).toString('hex')
  #number = 0
  #emptied: (() => void)[] = []
  readonly #life: ActiveJobEvents = {
    began: (held, worker) => this.#began(held, worker),
    succeeded: (held, value) => this.#endings.succeeded(held, value),
    ended: (held, job, error, returned) => this.#endings.ended(held, job, error, returned),
  }
  readonly #unlisten: () => void

  constructor(pool: RuntimePool, options: RuntimeOptions) {
    const settings = runtimeSettings(options)
    this.#state = new RuntimeState(pool, settings, (held) => this.#gone(held))
    this.#endings = new Completion(this.#state, { again: (held) => this.#gate.check(held), released: (held) => this.#released(held) })
    this.#gate = new Admission(this.#state, this.#endings)
    for (const [task, { rateLimit }] of Object.entries(settings.taskDefaults)) if (rateLimit !== undefined) this.#state.limits.set('task', task, rateLimit)
    this.#unlisten = this.#listen(pool)
  }

  /** A message was delivered: it is settled when its outcome is known, and never before. */
  receive(delivery: Delivery): void {
    this.#state.totals.received++
    this.#admit(delivery)
  }

  #admit(delivery: Delivery): void {
    const { active: held, generations, settler } = this.#state
    if (delivery.gone.aborted) {
      notifyEnded(delivery)
      return
    }
    const arrived = new ActiveJob(delivery, this.#life, () => `${this.#madeUp}-${++this.#number}`)
    const outcome = this.#remembered(arrived, delivery)
    if (outcome !== undefined) {
      this.#state.totals.recognised++
      this.#state.log?.info({ job: arrived.id, counts: arrived.counts, settlement: outcome.settlement.kind }, 'delivery recognised: its job has ended here')
      settler.settle([delivery], outcome)
      return
    }
    const present = held.get(arrived.id)
    if (present !== undefined) {
      // The same work is not run twice; other work under the same id waits until the id is free.
      if (this.#isAgain(present, arrived, delivery)) this.#join(present, delivery)
      else present.behind = [...present.behind, delivery]
      generations.watch(delivery.gone)
      return
    }
    held.add(arrived.id, arrived)
    generations.watch(delivery.gone)
    this.#gate.enter(arrived)
  }

  #join(held: ActiveJob, delivery: Delivery): void {
    held.deliveries.push(delivery)
    if (held.standing !== undefined) notifyEnded(held.standing)
    held.standing = undefined
  }

  /**
   * How its job ended here, should that be all that it still wants. One case alone makes it so: the acknowledgement did not reach
   * the broker, which then marks what it hands out again. Whatever is not marked is a new message, and runs.
   */
  #remembered({ identity }: ActiveJob, { redelivered }: Delivery): Outcome | undefined {
    const { finished, shared } = this.#state
    const outcome = identity === undefined ? undefined : finished.get(identity)
    if (identity === undefined || outcome === undefined || redelivered !== false) return outcome
    finished.delete(identity)
    // The earlier one may still come back.
    if (outcome.settling !== undefined) shared.set(identity, true)
    return undefined
  }

  /** Whether it is the job that is here already, delivered once more. */
  #isAgain(present: ActiveJob, { identity }: ActiveJob, { redelivered }: Delivery): boolean {
    const { shared } = this.#state
    if (identity === undefined || present.identity !== identity) return false
    if (redelivered === false) shared.set(identity, true)
    // Taken for the other of two, a message would vanish: both run rather.
    return !shared.has(identity)
  }

  /** The generation of one or more of its deliveries is gone: they will be delivered again, here or elsewhere. */
  #gone(held: ActiveJob): void {
    const lost = held.deliveries.filter(({ gone }) => gone.aborted)
    held.deliveries = held.deliveries.filter(({ gone }) => !gone.aborted)
    const { behind } = held
    held.behind = behind.filter(({ gone }) => !gone.aborted)
    // One stands for the job, as long as it takes up a place.
    if (held.deliveries.length === 0) held.standing = lost.pop() ?? held.standing
    for (const each of [...lost, ...behind.filter(({ gone }) => gone.aborted)]) notifyEnded(each)
    if (held.deliveries.length > 0) return
    // What has begun goes on: its outcome is remembered.
    if (held.phase === 'submitted') takeBack(held, 'gone')
    else if (held.phase !== 'done') this.#endings.forget(held)
  }

  #released(held: ActiveJob): void {
    this.#gate.leave(held)
    for (const delivery of held.takeBehind()) this.#admit(delivery)
    if (this.#state.active.size === 0 && this.#emptied.length > 0) for (const resolve of this.#emptied.splice(0)) resolve()
  }

  // ---- what the pool tells

  #listen(pool: RuntimePool): () => void {
    const find = (id: string): ActiveJob | undefined => this.#state.active.get(id)
    const retried = ({ id, worker, reason }: PoolEvents['jobRetried']): void => {
      const held = find(id)
      if (held !== undefined) this.#endings.loss(held, worker, reason)
    }
    const logged = ({ id, worker, lines }: PoolEvents['jobLog']): void => {
      const held = find(id)
      if (held === undefined) return
      for (const { stream, text, time } of lines) this.#state.log?.info({ job: id, task: held.name, worker, stream, at: time }, text)
    }
    const exited = ({ worker }: PoolEvents['workerExit']): void => {
      this.#state.failures.delete(worker)
    }
    const started = (): void => this.#state.pathOptions.forget()
    pool.on('workerUp', started)
    pool.on('jobRetried', retried)
    pool.on('workerExit', exited)
    if (this.#state.log !== undefined) pool.on('jobLog', logged)
    return () => {
      pool.off('workerUp', started)
      pool.off('jobRetried', retried)
      pool.off('workerExit', exited)
      pool.off('jobLog', logged)
    }
  }

  #began(held: ActiveJob, worker: number): void {
    held.begun = true
    held.running = true
    held.worker = worker
    held.startedAt = Date.now()
    // It has overtaken whatever was to take it back.
    const { intent } = held
    held.intent = undefined
    if (held.entry !== undefined) {
      const { record } = held.entry
      record.status = 'running'
      record.started = held.startedAt
      record.worker = worker
    }
    if (this.#state.heard) this.#state.report({ type: 'task.started', id: held.id, name: held.name, worker, attempt: held.counts.attempt })
    if (intent === 'revoked' && held.terminate) this.#terminate(held)
  }

  // ---- what the operator asks

  /** A job of this id is not to begin, here, from now on; with `terminate`, one that runs is ended. */
  async revoke(id: string, terminate = false): Promise<Revocation> {
    this.#state.revoked.set(id, true)
    const held = this.#state.active.get(id)
    if (held === undefined || held.phase === 'done') return 'remembered'
    if (held.phase !== 'submitted') {
      if (held.message !== undefined) this.#endings.revoked(held)
      return 'revoked'
    }
    held.terminate = terminate
    if (held.begun) return terminate ? this.#terminate(held) : 'running'
    held.intent = 'revoked'
    if (await held.job!.withdraw()) return 'revoked'
    return terminate ? 'terminated' : 'running'
  }

  #terminate(held: ActiveJob): 'terminated' {
    held.intent = 'revoked'
    held.job!.cancel(new RevokedError())
    return 'terminated'
  }

  /** Sets or lifts (null) the rate limit of a task or queue: '10/s', '600/m', '1000/h'. Throws RangeError for another form. */
  rateLimit(scope: 'task' | 'queue', name: string, limit: string | null): void {
    this.#state.limits.set(scope, name, limit)
    this.#gate.limitsChanged()
  }

  /** Gives back what has not begun; nothing begins until `resume`. */
  pause(): void {
    if (this.#state.phase === 'open') this.#state.phase = 'paused'
    this.#giveBackUnbegun()
  }

  resume(): void {
    if (this.#state.phase === 'paused') this.#state.phase = 'open'
  }

  get stats(): { totals: NodeStats['totals']; held: number; rateLimits: Record<string, string> } {
    return { totals: { ...this.#state.totals }, held: this.#state.unsettled, rateLimits: this.#state.limits.list() }
  }

  /** Failed jobs of a worker that lives. */
  failuresOf(worker: number): number {
    return this.#state.failures.get(worker) ?? 0
  }

  /** The last jobs, oldest first. */
  records(): TaskRecord[] {
    return this.#state.tasks.records()
  }

  /** Names of the tasks that a message may use. */
  get tasks(): string[] {
    return knownTasks(this.#state)
  }

  // ---- the end

  /** For good: what has not begun is given back, and so is whatever is still delivered. */
  release(): void {
    this.#state.phase = 'closing'
    this.#giveBackUnbegun()
  }

  /** Resolves when nothing is held any more. */
  async empty(): Promise<void> {
    if (this.#state.active.size > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve))
  }

  /** Ends what still runs, without settling it: `settleKilled` does once the workers are gone. */
  kill(): void {
    for (const held of this.#state.active.values()) {
      if (held.phase !== 'submitted' || held.intent === 'revoked') continue
      held.intent = 'killed'
      held.job!.cancel(new Error('The node shuts down.'))
    }
  }

  /** What was killed follows the rule of losses. Answers how many jobs there were. */
  settleKilled(): number {
    return this.#endings.settleKilled()
  }

  /** Resolves when every settlement has reached the broker, or has been given up. `hurry`: nothing is tried again. */
  async settled(hurry = false): Promise<void> {
    if (hurry) this.#state.settler.hurry()
    await this.#state.settler.idle()
  }

  /** Deliveries given back so far. */
  get requeued(): number {
    return this.#state.settler.requeued
  }

  /** Takes its listeners off the pool. */
  close(): void {
    this.#unlisten()
  }

  #giveBackUnbegun(): void {
    for (const held of this.#state.active.values()) {
      for (const delivery of held.takeBehind()) {
        this.#state.generations.forget(delivery.gone)
        this.#state.settler.settle([delivery], { settlement: { kind: 'requeue' }, remembered: false, reply: undefined, settling: undefined })
      }
      if (held.phase === 'submitted') takeBack(held, 'requeue')
      else if (held.message !== undefined) this.#endings.requeue(held)
    }
  }
}
