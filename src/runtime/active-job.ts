import { AsyncResource } from 'node:async_hooks'
import type { JobFollower } from '../pool/jobs/job.js'
import type { Job } from '../pool/types.js'
import type { TaskOptions } from '../worker/tasks/define-task.js'
import type { Counts, Delivery, HistoryEntry, JobHeaders } from './delivery.js'
import { identityOf } from './identity.js'
import type { JobMessage } from './message/index.js'
import type { TaskEntry } from './report/task-history.js'

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
export type ActiveJobPhase = 'preparing' | 'waiting' | 'submitted' | 'done'

/** Nearly every job has none: one for all. */
const NO_DELIVERIES: readonly Delivery[] = []
const NO_LINES: readonly HistoryEntry[] = []

/** Whom the pool's news of a held job concern. */
export interface ActiveJobEvents {
  began(held: ActiveJob, worker: number): void
  succeeded(held: ActiveJob, value: unknown): void
  ended(held: ActiveJob, job: Job, error: unknown, returned: boolean): void
}

/** One job in this node's hands, from its delivery until its outcome is known. A resource: what becomes of it is done in the context in which it was delivered. */
export class ActiveJob extends AsyncResource implements JobFollower {
  readonly #life: ActiveJobEvents
  /** The message id, or one made up where there is none: the pool's id. */
  readonly id: string
  /** Undefined without a message id. */
  readonly identity: string | undefined
  /** Those that wait for its settlement: more than one when it was delivered again while it runs. None: their generations are gone. */
  deliveries: Delivery[]
  /** The last of them, if it is gone and the job still takes up a place: it stands for that until another comes, or the job ends. */
  standing: Delivery | undefined
  /** Deliveries under the same message id that are other work: they come to the gate when this one is over. */
  behind: readonly Delivery[] = NO_DELIVERIES
  readonly counts: Counts
  readonly headers: JobHeaders
  readonly queue: string
  phase: ActiveJobPhase = 'preparing'
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
  lines: readonly HistoryEntry[] = NO_LINES
  intent: Intent | undefined
  /** A revocation that also ends it when it runs. */
  terminate = false
  /** Takes it back at its expiry. */
  expiry: NodeJS.Timeout | undefined

  constructor(delivery: Delivery, life: ActiveJobEvents, madeUpId: () => string) {
    super('prefork.Held')
    this.#life = life
    // An empty one is the same for all whose publishers have none.
    const id = delivery.id === '' ? undefined : delivery.id
    this.id = id ?? madeUpId()
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

  /** Beginnings on workers that died, those of earlier deliveries included. */
  get lossesSoFar(): number {
    return this.counts.losses + this.losses
  }

  // ---- what the pool tells

  began(job: Job, worker: number): void {
    if (this.job === job) this.runInAsyncScope(this.#life.began, this.#life, this, worker)
  }

  succeeded(job: Job, value: unknown): void {
    if (this.job === job) this.runInAsyncScope(this.#life.succeeded, this.#life, this, value)
  }

  ended(job: Job, error: unknown, returned: boolean): void {
    if (this.job === job) this.runInAsyncScope(this.#life.ended, this.#life, this, job, error, returned)
  }

  note(line: HistoryEntry): void {
    this.lines = [...this.lines, line]
  }

  /** Empties it. */
  takeBehind(): readonly Delivery[] {
    const { behind } = this
    this.behind = NO_DELIVERIES
    return behind
  }

  stopTimers(): void {
    if (this.expiry === undefined) return
    clearTimeout(this.expiry)
    this.expiry = undefined
  }
}
