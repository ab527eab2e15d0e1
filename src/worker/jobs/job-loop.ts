import { types } from 'node:util'
import { Deque } from '../../util/deque.js'
import { PreforkError, ProtocolError, SoftTimeLimitError, TaskNotFoundError } from '../../wire/errors.js'
import { creditBytesOf, creditItemsOf, deliveryOf, FRAME_HEAD, JOB_FIXED_BYTES, kindOf, LENGTH_BYTES, PULL_BYTES } from '../../wire/frame.js'
import { FLAG_CALLS, FLAG_RECORD, Kind, SMALL_MESSAGE_MAX } from '../../wire/messages.js'
import { FrameOutput } from '../io/frame-output.js'
import { FrameParser } from '../io/frame-parser.js'
import type { LinkEvents, WatchdogLink } from '../link.js'
import type { JobEndInfo } from '../tasks/hooks.js'
import type { TaskRegistry } from '../tasks/load.js'
import { InterruptibleCall } from './interruptible-call.js'
import { ItemPump, isThenable, iteratorOf } from './item-pump.js'
import { WorkerJob } from './job.js'
import { JobHooks } from './job-hooks.js'
import { JobReports } from './job-reports.js'
import type { JobLoopOptions, JobScope } from './loop-options.js'
import { OutgoingCalls } from './outgoing-calls.js'
import { type ResultPayload, Results } from './results.js'

/**
 * Runs the worker's jobs: claims each, accepts it, calls its task and settles it. A task is called synchronously from within a
 * native callback (a read, or the link's). The watchdog may terminate it anywhere. The stack then unwinds to the native callback
 * and no `finally` runs, so state lives in fields and is consistent before each call of a task.
 */
export class JobLoop implements LinkEvents {
  readonly output: FrameOutput
  readonly reports: JobReports
  readonly #options: JobLoopOptions
  readonly #link: WatchdogLink
  readonly #scope: JobScope
  readonly #call: InterruptibleCall
  readonly #hooks: JobHooks
  readonly #calls: OutgoingCalls
  readonly #results: Results
  readonly #parser: FrameParser
  /** Jobs that have arrived and are not yet claimed, as bytes. */
  readonly #waiting = new Deque<WorkerJob>()
  readonly #slots: (WorkerJob | undefined)[]
  /** Streams by delivery, waiting or running: credit may come before they are claimed. */
  readonly #streams = new Map<number, WorkerJob>()
  /** Running streams with new credit. They advance after the whole chunk is parsed, because advancing calls the task's code. */
  readonly #streamsWithCredit = new Deque<WorkerJob>()
  #registry: TaskRegistry | undefined
  #running = 0
  #quitting = false
  #finished = false

  constructor(options: JobLoopOptions) {
    const { config, link, write, clock } = options
    this.#options = options
    this.#link = link
    this.#scope = options.scope
    this.#slots = new Array<WorkerJob | undefined>(config.concurrency).fill(undefined)
    this.#parser = new FrameParser(Math.max(config.maxMessageSize, SMALL_MESSAGE_MAX) + JOB_FIXED_BYTES, (bytes, start, end) =>
      this.#onFrame(bytes, start, end),
    )
    this.output = new FrameOutput((chunks) => {
      link.beforeWrite()
      write(chunks)
      link.afterWrite()
    }, options.places)
    this.#call = new InterruptibleCall(link, this.#scope)
    this.#hooks = new JobHooks(options.jobStart ?? [], options.jobEnd ?? [], config.poolId, options.onFault)
    this.#results = new Results(this.output, config.maxMessageSize, config.measureMemory ? options.rss : undefined, options.record)
    this.#calls = new OutgoingCalls(this.output, this.#call, this.#hooks, config.maxMessageSize)
    this.reports = new JobReports(this.output, this.#call, this.#calls, clock, config)
  }

  get running(): readonly WorkerJob[] {
    return this.#slots.filter((job) => job !== undefined)
  }

  /** The tasks are loaded: jobs may run. */
  start(registry: TaskRegistry): void {
    this.#registry = registry
    if (this.#waiting.size > 0) this.#link.wake()
  }

  /** Takes bytes of the jobs pipe. To be called from within the native read callback; the memory may be reused afterwards. */
  receive(chunk: Buffer): void {
    try {
      this.#parser.push(chunk)
      this.#beginWaiting()
    } catch (error) {
      this.#options.onBroken(error)
    }
  }

  onWake(): void {
    this.#beginWaitingSafely()
  }

  onCancel(delivery: number, reason: unknown, asked: boolean): void {
    const job = this.#find(delivery)
    if (job === undefined) return
    job.cancelled = true
    // Listeners of the signal may call.
    job.mayCall = asked
    this.#scope.run(job, () => job.abort(reason))
    if (!asked) this.#calls.cancelled(job, reason)
    job.pump?.close()
  }

  onSoftLimit(delivery: number, limit: number): void {
    const job = this.#find(delivery)
    if (job === undefined) return
    job.softTimedOut = true
    this.#scope.run(job, () => job.abort(new SoftTimeLimitError(`The soft time limit of ${limit} ms has passed`, limit)))
  }

  onInterrupted(delivery: number, cause: 'soft' | 'cancel', stack: string): void {
    this.#call.terminated()
    const job = this.#find(delivery)
    if (job !== undefined) {
      job.softTimedOut ||= cause === 'soft'
      job.pump?.discard()
      this.#settle(job, 'interrupted', this.#results.stack(stack, job))
      // What the task began before (timers, requests) is asked to stop.
      const why = cause === 'soft' ? `The soft time limit of ${job.softLimit} ms has passed` : 'The job was cancelled'
      this.#scope.run(job, () => job.abort(cause === 'soft' ? new SoftTimeLimitError(why, job.softLimit, stack) : new DOMException(why, 'AbortError')))
    }
    this.#beginWaitingSafely()
  }

  #onFrame(bytes: Buffer, start: number, end: number): void {
    const body = start + LENGTH_BYTES
    switch (kindOf(bytes, body)) {
      case Kind.JOB: {
        const job = new WorkerJob(bytes, start, end)
        if (job.streaming) this.#streams.set(job.delivery, job)
        this.#waiting.push(job)
        return
      }
      case Kind.PULL: {
        const payload = start + FRAME_HEAD
        if (end - payload < PULL_BYTES) throw new ProtocolError(`A PULL frame of ${end - start} bytes is too short.`)
        const job = this.#streams.get(deliveryOf(bytes, body))
        if (job === undefined) return
        job.creditItems += creditItemsOf(bytes, payload)
        job.creditBytes += creditBytesOf(bytes, payload)
        if (job.pump !== undefined) this.#streamsWithCredit.push(job)
        return
      }
      case Kind.REPLY:
        // Settles a promise: no code of a task runs in here.
        this.#calls.reply(bytes, start, end)
        return
      case Kind.QUIT:
        this.#quitting = true
        return
      default:
        throw new ProtocolError(`A frame of unknown kind ${kindOf(bytes, body)} on the jobs pipe.`)
    }
  }

  #beginWaitingSafely(): void {
    try {
      this.#beginWaiting()
    } catch (error) {
      this.#options.onBroken(error)
    }
  }

  /** Only ever called from within a native callback. */
  #beginWaiting(): void {
    this.#call.needsFreshCallback = false
    for (let job = this.#streamsWithCredit.shift(); job !== undefined; job = this.#streamsWithCredit.shift()) this.#grant(job)
    const registry = this.#registry
    const { claimer } = this.#link
    while (registry !== undefined && this.#running < this.#slots.length && this.#waiting.size > 0) {
      if (this.#call.needsFreshCallback) {
        this.#link.wake()
        break
      }
      const job = this.#waiting.shift()!
      if (claimer.claim(job.delivery)) {
        // Before its ACCEPTED: then the host uses that memory for another job. Not before the claim: a job that is taken back has none.
        if (job.isPlaced) job.fetch(this.#options.places!.jobs)
        this.#begin(job, registry)
      } else this.#streams.delete(job.delivery)
    }
    this.output.flush()
    this.#finishIfDone()
  }

  #begin(job: WorkerJob, registry: TaskRegistry): void {
    const slot = this.#slots.indexOf(undefined)
    job.slot = slot
    this.#slots[slot] = job
    this.#running += 1
    if (!this.#recorded(job)) this.output.putHead(Kind.ACCEPTED, 0, job)
    this.output.flush()
    this.#link.began(slot, job.delivery, job.softLimit, job.hardLimit)
    let args: unknown[]
    try {
      const task = registry.tasks[job.taskIndex]
      if (task === undefined) throw new TaskNotFoundError(`The worker has no task number ${job.taskIndex}.`, registry.names)
      job.name = job.calledAs ?? task.name
      job.run = task.run
      args = job.args()
    } catch (error) {
      this.#fail(job, this.#results.undecodable(error))
      return
    }
    this.#run(job, args)
  }

  /** Records the acceptance, if it is asked to. False: ACCEPTED is needed. A READY that waits is written first: should this worker die in between, that job would be lost. */
  #recorded(job: WorkerJob): boolean {
    const { record } = this.#options
    if ((job.flags & FLAG_RECORD) === 0 || record === undefined) return false
    this.output.flush()
    const at = record.now()
    if (!record.record(job.delivery, at)) return false
    job.recorded = true
    job.recordedAt = at
    return true
  }

  #run(job: WorkerJob, args: unknown[]): void {
    let value: unknown
    this.#call.enter(job)
    try {
      this.#hooks.before(job)
      const { run } = job
      value = run(...args)
    } catch (error) {
      this.#call.leave()
      this.#fail(job, error)
      return
    }
    this.#call.leave()
    let pending: PromiseLike<unknown> | undefined
    try {
      if (isThenable(value)) pending = Promise.resolve(value)
    } catch (error) {
      // A `then` that throws when it is read.
      this.#fail(job, error)
      return
    }
    if (pending === undefined) this.#returned(job, value)
    else {
      pending.then(
        (result) => this.#settleFromPromise(() => this.#returned(job, result)),
        (error) => this.#settleFromPromise(() => this.#fail(job, error)),
      )
    }
  }

  /** Settles from a promise: the result is written now, but the next task begins only from within a native callback. */
  #settleFromPromise(settle: () => void): void {
    try {
      settle()
      this.output.flush()
      if (this.#waiting.size > 0 && this.#running < this.#slots.length) this.#link.wake()
      this.#finishIfDone()
    } catch (error) {
      this.#options.onBroken(error)
    }
  }

  #returned(job: WorkerJob, value: unknown): void {
    if (job.settled) return
    if (job.streaming) this.#stream(job, value)
    else if (typeof value === 'object' && value !== null && types.isGeneratorObject(value)) {
      this.#fail(job, new PreforkError('ERR_PREFORK_STREAM', `The task '${job.name}' is a generator: call it with pool.stream().`))
    } else this.#settle(job, 'succeeded', this.#results.value(value, job))
  }

  #stream(job: WorkerJob, value: unknown): void {
    let iterator: ReturnType<typeof iteratorOf>
    try {
      iterator = iteratorOf(value)
    } catch (error) {
      this.#fail(job, error)
      return
    }
    if (iterator === undefined) {
      this.#fail(job, new PreforkError('ERR_PREFORK_STREAM', `The task '${job.name}' returned no iterable: call it with pool.run().`))
      return
    }
    job.pump = new ItemPump(iterator, {
      maxMessageSize: this.#options.config.maxMessageSize,
      call: (fn) => this.#call.run(job, fn),
      item: (encoded) => {
        this.reports.flush(job)
        this.output.put(Kind.ITEM, 0, job, encoded)
        this.output.flush()
      },
      ended: () => this.#settleFromPromise(() => this.#settle(job, 'succeeded', this.#results.value(undefined, job))),
      failed: (error, unsendable) => this.#settleFromPromise(() => this.#fail(job, error, unsendable)),
    })
    if (job.cancelled) job.pump.close()
    else this.#grant(job)
  }

  #grant(job: WorkerJob): void {
    const { creditItems, creditBytes } = job
    job.creditItems = 0
    job.creditBytes = 0
    job.pump?.grant(creditItems, creditBytes)
  }

  #fail(job: WorkerJob, error: unknown, unsendable = false): void {
    if (!job.settled) this.#settle(job, 'failed', this.#results.error(error, job, unsendable))
  }

  #settle(job: WorkerJob, outcome: JobEndInfo['outcome'], payload: ResultPayload): void {
    if (this.#hooks.any) this.#scope.run(job, () => this.#hooks.after(job, outcome))
    this.reports.flush(job)
    job.settled = true
    if ((job.flags & FLAG_CALLS) !== 0) this.#calls.jobEnded(job)
    if (job.streaming) this.#streams.delete(job.delivery)
    this.#slots[job.slot] = undefined
    this.#running -= 1
    this.#link.ended(job.slot)
    this.#results.put(job, payload)
  }

  #find(delivery: number): WorkerJob | undefined {
    return this.#slots.find((job) => job?.delivery === delivery)
  }

  #finishIfDone(): void {
    if (!this.#quitting || this.#finished || this.#running > 0) return
    // While the tasks still load no job has run, and none will.
    if (this.#waiting.size > 0 && this.#registry !== undefined) return
    this.#finished = true
    this.#options.onFinished()
  }
}
