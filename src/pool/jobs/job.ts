import { defaultJobId, type LogLine } from '../../wire/messages.js'
import { errorWithCaller } from '../errors.js'
import { inCallersContext } from '../events.js'
import type { Job, JobEvents, JobState } from '../types.js'
import type { PoolWorker } from '../worker/worker.js'
import type { Broadcast } from './broadcast.js'

/** What a task's result, or its refusal, came to. */
export type JobOutcome = { readonly state: 'succeeded'; readonly value: unknown } | { readonly state: 'failed' | 'cancelled' | 'lost'; readonly error: unknown }

/** A job as it was given: what does not change in its life. */
export interface JobSpec {
  readonly number: number
  /** Of the task that runs. */
  readonly name: string
  /** What the job is called instead, where the task is one that finds another. */
  readonly calledAs?: string | undefined
  readonly id: string | undefined
  readonly priority: number
  /** ms, 0 for none. */
  readonly softLimit: number
  readonly hardLimit: number
  readonly retryLost: number
  /** JOB flags: meta, stream. */
  readonly flags: number
  /** What stands behind the JOB head: meta section, body, binaries. Encoded once. */
  readonly parts: readonly Uint8Array[]
  readonly size: number
  /** ms on the hub's clock. */
  readonly submittedAt: number
  /** The caller's, which cancels the job. */
  readonly signal?: AbortSignal | undefined
}

/** What receives the items of a stream. */
export interface ItemSink {
  /** The job was accepted: its first credit is due. */
  granted(worker: PoolWorker, job: JobRecord): void
  item(value: unknown, bytes: number): void
}

/** What the job asks of the pool. */
export interface JobOwner {
  readonly poolId: string
  cancelJob(job: JobRecord, reason: unknown): boolean
  withdrawJob(job: JobRecord, reason: unknown): void
}

/**
 * Follows a job without a promise, for a caller through whose hands all jobs go: those of a job would cost him more than the rest of it.
 * Called in the midst of the pool's work.
 */
export interface JobFollower {
  /** `worker` has accepted it: once for each attempt. */
  began(job: Job, worker: number): void
  succeeded(job: Job, value: unknown): void
  /**
   * It did not succeed. As a rejection of `result`: later, with the caller's frames. `returned`: the task has, but with a value that
   * cannot be sent.
   */
  ended(job: Job, error: unknown, returned: boolean): void
}

type Listeners = { [E in keyof JobEvents]?: Map<JobEvents[E], JobEvents[E]> }

/** One submitted job: its state, its place in a worker, and the promises made about it. */
export class JobRecord implements Job {
  readonly spec: JobSpec
  readonly #owner: JobOwner
  /** Once settled it never changes again. */
  state: JobState = 'queued'
  attempt = 1
  putBacks = 0
  /** Id of the worker that holds it, 0 for none. */
  worker = 0
  /** Its number among the deliveries of that worker. */
  delivery = 0
  acceptedAt = 0
  softTimedOut = false
  /** Failed, because the value that its task has returned cannot be sent. */
  returned = false
  /** It waits in the outbox. */
  inOutbox = false
  /** It is one of its shares, for one worker alone. */
  broadcast: Broadcast | undefined
  items: ItemSink | undefined
  /** An item has arrived: it is not run again. */
  streamed = false
  /** It is to be cancelled if it comes back unbegun. */
  withdrawal: { readonly reason: unknown } | undefined
  /** Undoes what hangs on the job from outside (the caller's signal, host deadlines). */
  onSettled: (() => void) | undefined
  /** Undoes the deadlines of the attempt that is over. */
  endAttempt: (() => void) | undefined
  outcome: JobOutcome | undefined
  #began: boolean | undefined
  #beganPromise: Promise<boolean> | undefined
  #resolveBegan: ((began: boolean) => void) | undefined
  #settled: Promise<void> | undefined
  #resolveSettled: (() => void) | undefined
  #result: Promise<unknown> | undefined
  #resolveResult: ((value: unknown) => void) | undefined
  #logs: LogLine[] | undefined
  #listeners: Listeners | undefined
  #follower: JobFollower | undefined

  constructor(owner: JobOwner, spec: JobSpec) {
    this.#owner = owner
    this.spec = spec
  }

  get number(): number {
    return this.spec.number
  }

  get priority(): number {
    return this.spec.priority
  }

  get waiting(): boolean {
    return this.state === 'queued'
  }

  /** A follower's jobs come from queues without an end: the public `priority` is strict, theirs is bounded. */
  get takesTurns(): boolean {
    return this.#follower !== undefined
  }

  /** What it is called, in messages, events and in its worker. */
  get name(): string {
    return this.spec.calledAs ?? this.spec.name
  }

  /** What runs. */
  get task(): string {
    return this.spec.name
  }

  get id(): string {
    return this.spec.id ?? defaultJobId(this.#owner.poolId, this.spec.number)
  }

  get accepted(): boolean {
    return this.#began === true
  }

  get isSettled(): boolean {
    return this.outcome !== undefined
  }

  get settled(): Promise<void> {
    this.#settled ??= this.isSettled
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#resolveSettled = resolve
        })
    return this.#settled
  }

  get began(): Promise<boolean> {
    if (this.#began !== undefined) return Promise.resolve(this.#began)
    this.#beganPromise ??= new Promise((resolve) => {
      this.#resolveBegan = resolve
    })
    return this.#beganPromise
  }

  /** Whether the task can have begun, as far as it is known. */
  get mayHaveBegun(): boolean | undefined {
    return this.#began
  }

  markBegan(began: boolean): void {
    if (this.#began === true) return
    this.#began = began
    this.#resolveBegan?.(began)
    this.#resolveBegan = undefined
  }

  /** One promise and nothing beside it: of jobs that wait there may be a million, and the collector copies each. */
  get result(): Promise<unknown> {
    if (this.#result === undefined) {
      this.#result = new Promise((resolve) => {
        this.#resolveResult = resolve
      })
      if (this.outcome !== undefined) this.#answer(this.outcome)
    }
    return this.#result
  }

  #answer(verdict: JobOutcome): void {
    this.#resolveResult?.(verdict.state === 'succeeded' ? verdict.value : this.#rejection(verdict))
    this.#resolveResult = undefined
  }

  /**
   * The result's promise is resolved with this one: an error that is built here has the async frames of who awaits the result
   * in its stack, at no cost for jobs that succeed.
   */
  async #rejection(verdict: JobOutcome & { state: 'failed' | 'cancelled' | 'lost' }): Promise<never> {
    // The one promise hangs on the other from the second turn on.
    await undefined
    await undefined
    // A reason for cancelling is the caller's own object and is handed back untouched.
    const error = verdict.state === 'cancelled' ? verdict.error : errorWithCaller(verdict.error)
    // Marked as handled only now: an earlier reaction would hide the caller's frames from the stack.
    this.#result?.catch(() => {})
    throw error
  }

  settle(verdict: JobOutcome): void {
    this.outcome = verdict
    this.state = verdict.state
    this.#resolveSettled?.()
    this.#resolveSettled = undefined
    this.#answer(verdict)
    this.#listeners = undefined
    this.endAttempt?.()
    this.endAttempt = undefined
    this.onSettled?.()
    this.onSettled = undefined
  }

  /** To be called as soon as it is submitted. */
  follow(follower: JobFollower): void {
    this.#follower = follower
    if (this.isSettled) this.notifySettled()
  }

  notifyBegan(): void {
    const follower = this.#follower
    if (follower === undefined) return
    try {
      follower.began(this, this.worker)
    } catch (error) {
      throwLater(error)
    }
  }

  notifySettled(): void {
    const follower = this.#follower
    if (follower === undefined) return
    this.#follower = undefined
    const verdict = this.outcome!
    if (verdict.state !== 'succeeded') {
      this.result.catch((error: unknown) => follower.ended(this, error, this.returned))
      return
    }
    try {
      follower.succeeded(this, verdict.value)
    } catch (error) {
      throwLater(error)
    }
  }

  cancel(reason?: unknown): boolean {
    return this.#owner.cancelJob(this, reason)
  }

  async withdraw(reason?: unknown): Promise<boolean> {
    if (this.isSettled || this.#began === true) return false
    this.#owner.withdrawJob(this, reason)
    return !(await this.began) && this.state === 'cancelled'
  }

  get logs(): readonly LogLine[] {
    return this.#logs ?? []
  }

  addLog(line: LogLine): void {
    this.#logs ??= []
    this.#logs.push(line)
  }

  on<E extends keyof JobEvents>(event: E, listener: JobEvents[E]): this {
    if (event !== 'progress' && event !== 'softTimeLimit') throw new TypeError(`A job has no event '${String(event)}'; there are: progress, softTimeLimit.`)
    if (typeof listener !== 'function') throw new TypeError(`job.on('${event}', listener): the listener must be a function.`)
    if (this.isSettled) return this
    this.#listeners ??= {}
    const all = (this.#listeners[event] ?? new Map()) as Map<JobEvents[E], JobEvents[E]>
    all.set(listener, inCallersContext(listener))
    this.#listeners[event] = all as Listeners[E]
    return this
  }

  off<E extends keyof JobEvents>(event: E, listener: JobEvents[E]): this {
    ;(this.#listeners?.[event] as Map<JobEvents[E], JobEvents[E]> | undefined)?.delete(listener)
    return this
  }

  emit<E extends keyof JobEvents>(event: E, ...args: Parameters<JobEvents[E]>): void {
    const listeners = this.#listeners?.[event] as Map<JobEvents[E], JobEvents[E]> | undefined
    if (listeners === undefined) return
    for (const bound of [...listeners.values()]) {
      try {
        ;(bound as (...args: unknown[]) => void)(...args)
      } catch (error) {
        throwLater(error)
      }
    }
  }
}

/** Whoever was told made a mistake of his own: it must be seen, but not in the middle of the pool's book-keeping. */
const throwLater = (error: unknown): void => {
  process.nextTick(() => {
    throw error
  })
}
