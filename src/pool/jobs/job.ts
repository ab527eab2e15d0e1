import type { Limits } from '../../util/limits.js'
import { throwLater } from '../../util/notify.js'
import { defaultJobId, FLAG_STREAM, type LogLine } from '../../wire/messages.js'
import { withCallerStack } from '../../wire/remote-error/index.js'
import { inCallersContext } from '../events.js'
import type { CancelOptions, Job, JobEvents, JobState } from '../types.js'
import type { Broadcast } from './broadcast.js'
import type { JobCalls } from './calls.js'
import { type Cancellation, type JobFailure, type JobOutcome, readGrace } from './job-end.js'

/** The part of a job that never changes. */
export interface JobSpec extends Limits {
  readonly number: number
  /** Name of the task. */
  readonly name: string
  /** The name that the job has instead, for a task that finds and runs another function. */
  readonly calledAs?: string | undefined
  readonly id: string | undefined
  readonly priority: number
  readonly retryLost: number
  /** JOB flags: meta, stream. */
  readonly flags: number
  /** The bytes after the head of JOB: sections, body, binaries. Encoded once. */
  readonly parts: readonly Uint8Array[]
  readonly size: number
  /** Nobody but the pool can see when the job is accepted. */
  readonly unobserved: boolean
  /** ms on the hub's clock. */
  readonly submittedAt: number
  /** The caller's signal, which cancels the job. */
  readonly signal?: AbortSignal | undefined
  /** The functions that the task may call. */
  readonly calls?: JobCalls | undefined
  /** `cancel: 'ask'`: if the job is cancelled while it runs, it settles once its task has ended or its process is gone. */
  readonly asks: boolean
}

/** Sends the items of a stream: a worker. */
export interface ItemSource {
  /** Grants credit: the source may send this many more items and bytes. */
  pull(delivery: number, items: number, bytes: number): void
}

/** Receives the items of a stream. */
export interface ItemSink {
  /** The job was accepted: its first credit is due. */
  grant(source: ItemSource, job: JobRecord): void
  item(value: unknown, bytes: number): void
}

/** The part of the pool that a job uses. An interface, so that this file imports nothing of the pool. */
export interface JobOwner {
  readonly poolId: string
  /** `grace`: ms; undefined: `cancelGrace`. */
  cancel(job: JobRecord, reason: unknown, grace?: number): boolean
  withdraw(job: JobRecord, reason: unknown): void
}

/** Follows a job without promises, for a node: they would cost more than the rest of the job. Called while the pool is at work: it must not wait. */
export interface JobFollower {
  /** `worker` has accepted the job. Called once for each attempt. */
  began(job: Job, worker: number): void
  succeeded(job: Job, value: unknown): void
  /** The job did not succeed. Called later, with the error with which `result` rejects. `resultUnsendable`: the task returned a value that cannot be sent. */
  ended(job: Job, error: unknown, resultUnsendable: boolean): void
  /** The job's worker died, and the job is to run again. `reason`: for its history, "ended with worker 3: …". */
  retried?(job: Job, worker: number, reason: string): void
  progressed?(job: Job, value: unknown): void
  /** Lines that the job has written to stdout and stderr. */
  logged?(job: Job, worker: number, lines: readonly LogLine[]): void
}

type Listeners = { [E in keyof JobEvents]?: Map<JobEvents[E], JobEvents[E]> }

/** One submitted job: its state, the worker that holds it, and its promises. */
export class JobRecord implements Job {
  readonly spec: JobSpec
  readonly #owner: JobOwner
  /** Once settled it never changes again. */
  state: JobState = 'queued'
  attempt = 1
  putBacks = 0
  /** Id of the worker that the job was written to, until the job is given back; 0 for none. */
  holder = 0
  /** Id of the worker that accepted the job last, 0 for none. */
  ranIn = 0
  /** The job's number among the deliveries of `holder`. */
  delivery = 0
  acceptedAt = 0
  softTimedOut = false
  /** Those of the present attempt. */
  limits: Limits
  /** Each attempt ends by then, ms on the hub's clock. Undefined: whatever its limits say. */
  deadline: number | undefined
  /** The job failed because the value that its task returned cannot be sent. */
  resultUnsendable = false
  /** The job waits in the job queue. */
  inJobQueue = false
  /** Set for a share of a broadcast: the job is that broadcast's share for one worker. */
  broadcast: Broadcast | undefined
  items: ItemSink | undefined
  /** An item has arrived, so the job is not run again. */
  streamed = false
  /** Set: the job is cancelled if a recall brings it back. */
  withdrawal: { readonly reason: unknown } | undefined
  cancellation: Cancellation | undefined
  /** Takes the job out of the registry of its caller's signal. */
  onSettled: (() => void) | undefined
  /** Cancels the host's deadlines of this attempt. */
  cancelDeadlines: (() => void) | undefined
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

  /** `result`, `resolve`: the promise of a call that was packed. */
  constructor(owner: JobOwner, spec: JobSpec, result?: Promise<unknown>, resolve?: (value: unknown) => void) {
    this.#owner = owner
    this.spec = spec
    this.limits = spec
    this.#result = result
    this.#resolveResult = resolve
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

  /** The jobs of a follower come from queues that may never be empty: the public `priority` is strict, theirs is bounded. */
  get takesTurns(): boolean {
    return this.#follower !== undefined
  }

  /** The job's name in messages, in events and in its worker. */
  get name(): string {
    return this.spec.calledAs ?? this.spec.name
  }

  /** The name of the job's task. */
  get task(): string {
    return this.spec.name
  }

  get id(): string {
    return this.spec.id ?? defaultJobId(this.#owner.poolId, this.spec.number)
  }

  get worker(): number | undefined {
    const id = this.isSettled ? this.ranIn : this.holder
    return id === 0 ? undefined : id
  }

  get streaming(): boolean {
    return (this.spec.flags & FLAG_STREAM) !== 0
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

  /** Whether the task can have begun, as far as it is known. @internal For the simulation. */
  get mayHaveBegun(): boolean | undefined {
    return this.#began
  }

  markBegan(began: boolean): void {
    if (this.#began === true) return
    this.#began = began
    this.#resolveBegan?.(began)
    this.#resolveBegan = undefined
  }

  /** One promise and nothing beside it: a million jobs may wait, and the garbage collector copies each. */
  get result(): Promise<unknown> {
    if (this.#result === undefined) {
      this.#result = new Promise((resolve) => {
        this.#resolveResult = resolve
      })
      if (this.outcome !== undefined) this.#answer(this.outcome)
    }
    return this.#result
  }

  #answer(outcome: JobOutcome): void {
    this.#resolveResult?.(outcome.state === 'succeeded' ? outcome.value : this.#rejection(outcome))
    this.#resolveResult = undefined
  }

  /** The result resolves to this promise: an error built here has the async frames of the code that awaits it, at no cost for jobs that succeed. */
  async #rejection(outcome: JobFailure): Promise<never> {
    // The outer promise follows this one from the second microtask on.
    await undefined
    await undefined
    // The reason of a cancellation is the caller's own object and is thrown unchanged.
    const error = outcome.state === 'cancelled' ? outcome.error : withCallerStack(outcome.error)
    // Marked as handled only now: an earlier reaction would hide the caller's frames from the stack.
    if (outcome.unhandled !== true) this.#result?.catch(() => {})
    throw error
  }

  settle(outcome: JobOutcome): void {
    this.outcome = outcome
    this.state = outcome.state
    this.#resolveSettled?.()
    this.#resolveSettled = undefined
    this.#answer(outcome)
    this.#listeners = undefined
    this.endAttempt()
    this.onSettled?.()
    this.onSettled = undefined
  }

  /** The job has settled, or will run again: the limits and the calls of this attempt are over, even if its task still runs. */
  endAttempt(): void {
    this.cancelDeadlines?.()
    this.cancelDeadlines = undefined
    this.spec.calls?.end()
  }

  /** To be called right after the submission. */
  follow(follower: JobFollower): void {
    this.#follower = follower
    if (this.isSettled) this.notifySettled()
  }

  notifyBegan(): void {
    const follower = this.#follower
    if (follower === undefined) return
    try {
      follower.began(this, this.holder)
    } catch (error) {
      throwLater(error)
    }
  }

  /** Calls the follower, if there is one. Nearly no job has a follower. */
  notify(call: (follower: JobFollower) => void): void {
    if (this.#follower === undefined) return
    try {
      call(this.#follower)
    } catch (error) {
      throwLater(error)
    }
  }

  notifySettled(): void {
    const follower = this.#follower
    if (follower === undefined) return
    this.#follower = undefined
    const outcome = this.outcome!
    if (outcome.state !== 'succeeded') {
      this.result.catch((error: unknown) => follower.ended(this, error, this.resultUnsendable))
      return
    }
    try {
      follower.succeeded(this, outcome.value)
    } catch (error) {
      throwLater(error)
    }
  }

  cancel(reason?: unknown, options?: CancelOptions): boolean {
    return this.#owner.cancel(this, reason, readGrace(options))
  }

  async withdraw(reason?: unknown): Promise<boolean> {
    if (this.isSettled || this.#began === true) return false
    this.#owner.withdraw(this, reason)
    return !(await this.began) && this.state === 'cancelled'
  }

  /** As `withdraw`, also where it has begun and waits to run again. */
  withdrawUnlessRunning(reason?: unknown): void {
    this.#owner.withdraw(this, reason)
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
