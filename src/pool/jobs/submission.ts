import { plainObject, refuseUnknownNames } from '../../util/checks.js'
import { nearest } from '../../util/nearest.js'
import { namesOf } from '../../util/option-table.js'
import { overText } from '../../util/shown-text.js'
import { EMPTY_ARRAY, type EncodeOptions, encode } from '../../wire/codec/index.js'
import { PoolClosedError, QueueFullError, SerializationError, TaskNotFoundError } from '../../wire/errors.js'
import { JOB_HEAD, LENGTH_BYTES } from '../../wire/frame.js'
import { FLAG_CALLS, FLAG_DELIVERY, FLAG_META, FLAG_NAME, FLAG_STREAM, type TaskInfo } from '../../wire/messages.js'
import { closedError } from '../errors.js'
import type { PoolState } from '../pool-state.js'
import { type PackedJob, PackedJobs } from '../queue/packed-jobs.js'
import { JobCalls } from './calls.js'
import { type JobOwner, JobRecord, type JobSpec } from './job.js'
import { DeliverySections, metaSection } from './job-sections.js'
import { BROADCAST_OPTIONS, type JobOptions, mergeOptions } from './run-options.js'

const NO_META: readonly Uint8Array[] = []
const NO_ARGS: readonly Uint8Array[] = [EMPTY_ARRAY.body]
const ARGS_AT = JOB_HEAD - LENGTH_BYTES
const ARGS: EncodeOptions = { copyBinaries: true, root: 'args', at: ARGS_AT }

/** The method of the pool by which a job is submitted. */
export interface CallKind {
  /** The method's name, for errors: 'run', 'submit' … */
  call: string
  stream?: boolean
  /** The caller gets the result alone, and no job to look at. */
  resultOnly?: boolean
  /** A mistake of the program raises unhandledRejection if nobody awaits the result. The results of other calls are awaited by the pool, in their turn. */
  raises?: boolean
}

export const RUN: CallKind = { call: 'run', resultOnly: true, raises: true }
export const SUBMIT: CallKind = { call: 'submit', raises: true }
export const MAP: CallKind = { call: 'map', resultOnly: true }
export const STREAM: CallKind = { call: 'stream', stream: true }
export const BROADCAST: CallKind = { call: 'broadcast' }

/** Checks and encodes everything about a job at the call. A refused call gets a job, too: it has settled with the error, and nothing is written. */
export class Submission {
  readonly #pool: PoolState
  readonly #owner: JobOwner
  readonly #deliveries = new DeliverySections()
  readonly #packed = new PackedJobs<JobRecord, TaskInfo>((packed) => this.#unpack(packed))
  #number = 0

  constructor(pool: PoolState, owner: JobOwner) {
    this.#pool = pool
    this.#owner = owner
  }

  /** Makes a new job. The job of a refused call has settled already. */
  make(kind: CallKind, name: unknown, args: unknown, given: unknown): JobRecord {
    let isChecked = false
    try {
      const options = this.#options(kind, name, args, given)
      isChecked = true
      return new JobRecord(this.#owner, this.#spec(kind, name as string, args as unknown[] | undefined, options))
    } catch (refused) {
      return this.#refused(name, given, refused, kind.raises === true && !isChecked && !(refused instanceof PoolClosedError))
    }
  }

  #refused(name: unknown, given: unknown, refused: unknown, unhandled: boolean): JobRecord {
    const { id, calledAs } = namesIn(given)
    const error = ofTask(refused, calledAs ?? nameText(name))
    const job = new JobRecord(this.#owner, this.#build(++this.#number, nameText(name), id, NO_META, 0, 0, undefined, calledAs))
    job.markBegan(false)
    job.settle({ state: 'failed', error, unhandled })
    // A result that nobody asks for is one that nobody awaits.
    if (unhandled) void job.result
    return job
  }

  /**
   * Submits a `run` without options, of which nobody can see anything but the result, and returns that: its job is packed, and gets an object when a
   * worker can take it. Undefined: the call is for `make`, because it is refused or an event tells of it.
   */
  pack(name: unknown, given: unknown): Promise<unknown> | undefined {
    const pool = this.#pool
    const { maxMessageSize } = pool.settings
    if (pool.phase !== 'open' || (given !== undefined && !Array.isArray(given)) || pool.events.wants('jobSubmitted')) return undefined
    const task = pool.tasks.get(name as string)
    if (task === undefined || pool.isFull()) return undefined
    try {
      const { body, binaries, size } = encode(given ?? [], 0, ARGS)
      if (size > maxMessageSize) throw tooLarge(task.name, size, maxMessageSize)
      // A getter may have closed the pool, or submitted jobs: they are before this one, and may have filled the queue.
      if (pool.phase !== 'open') throw closedError(`pool.run('${task.name}')`)
      if (pool.isFull()) throw queueFull(pool.settings.maxQueue)
      const args = binaries.length === 0 ? body : [body, ...binaries]
      const result = this.#packed.add(++this.#number, task, args, size, pool.hub.now())
      pool.submitted()
      pool.jobQueue.addPacked(this.#packed)
      pool.wakeForJob()
      return result
    } catch (refused) {
      return this.#refused(name, undefined, refused, false).result
    }
  }

  readonly #unpack = ({ number, task, args, size, submittedAt, result, resolve }: Readonly<PackedJob<TaskInfo>>): JobRecord => {
    const options = mergeOptions(this.#pool.settings, task, undefined)
    const parts = args === EMPTY_ARRAY.body ? NO_ARGS : Array.isArray(args) ? args : [args as Uint8Array]
    const spec = this.#build(number, task.name, undefined, parts, size, 0, options, undefined, true, submittedAt)
    const job = new JobRecord(this.#owner, spec, result, resolve)
    job.inJobQueue = true
    return job
  }

  /** Throws where the call is a mistake of the program, whatever its data, and where the pool is closed. */
  #options({ call }: CallKind, name: unknown, args: unknown, given: unknown): JobOptions {
    const { phase, tasks, settings } = this.#pool
    if (phase !== 'open') throw closedError(`pool.${call}('${nameText(name)}')`)
    if (typeof name !== 'string') throw new TypeError(`A task is called by its name: pool.${call}('name', [arguments]).`)
    const task = tasks.get(name)
    if (task === undefined) throw unknownTask(name, [...tasks.keys()], namesIn(given).calledAs)
    if (args !== undefined && !Array.isArray(args)) {
      throw notArguments(call, name, args)
    }
    return mergeOptions(settings, task, given, call)
  }

  /** Throws where the call is refused for its data, or for want of room. */
  #spec({ stream, resultOnly }: CallKind, name: string, args: unknown[] | undefined, options: JobOptions): JobSpec {
    const { settings } = this.#pool
    if (this.#pool.isFull()) {
      throw queueFull(settings.maxQueue)
    }
    const { calledAs } = options
    const meta = metaSection(options)
    const delivery = this.#deliveries.of(options)
    const sections = (meta?.length ?? 0) + (delivery?.length ?? 0)
    const { transfer } = options
    const how = sections === 0 && transfer === undefined ? ARGS : { ...ARGS, at: ARGS_AT + sections, ...(transfer && { transfer }) }
    const { body, binaries, size } = encode(args ?? [], 0, how)
    // A getter may have submitted jobs. What was moved cannot be given back: a call that moves something is taken.
    if (transfer === undefined && this.#pool.isFull()) throw queueFull(settings.maxQueue)
    let flags = stream ? FLAG_STREAM : 0
    let parts: readonly Uint8Array[] = body === EMPTY_ARRAY.body ? NO_ARGS : [body, ...binaries]
    const total = size + sections
    if (delivery !== undefined) {
      flags |= FLAG_DELIVERY
      parts = [delivery, ...parts]
    }
    if (calledAs !== undefined) flags |= FLAG_NAME
    if (options.calls !== undefined) flags |= FLAG_CALLS
    if (meta !== undefined) {
      flags |= FLAG_META
      parts = [meta, ...parts]
    }
    if (total > settings.maxMessageSize) {
      throw tooLarge(calledAs ?? name, total, settings.maxMessageSize)
    }
    return this.#build(++this.#number, name, options.id, parts, total, flags, options, calledAs, resultOnly)
  }

  #build(
    number: number,
    name: string,
    id: string | undefined,
    parts: readonly Uint8Array[],
    size: number,
    flags: number,
    options?: JobOptions,
    calledAs?: string,
    resultOnly = false,
    submittedAt = this.#pool.hub.now(),
  ): JobSpec {
    return {
      number,
      name,
      calledAs,
      id,
      priority: options?.priority ?? 0,
      softLimit: options?.softLimit ?? 0,
      hardLimit: options?.hardLimit ?? 0,
      retryLost: options?.retryLost ?? 0,
      flags,
      parts,
      size,
      unobserved: resultOnly && options?.softLimit === 0 && options.hardLimit === 0,
      asks: options?.cancel === 'ask',
      submittedAt,
      signal: options?.signal,
      calls: options?.calls === undefined ? undefined : new JobCalls(options.calls),
    }
  }
}

/** The text of a value that was given as a name. Never throws, because it is used in refusals. */
export const nameText = (name: unknown): string => {
  try {
    return String(name)
  } catch {
    return `a ${typeof name} without a text`
  }
}

const notArguments = (call: string, name: string, args: unknown): TypeError => {
  const each = typeof args === 'string' ? `'${args}'` : '…'
  return new TypeError(
    call === 'map'
      ? `Each item of the source of pool.map('${name}', source) is an array, the arguments of one call: [${each}], not ${each}.`
      : `The arguments of a task are an array: pool.${call}('${name}', [${each}]).`,
  )
}

/** Names the task in an error of the codec, which knows only the value. */
const ofTask = (error: unknown, name: string): unknown =>
  error instanceof SerializationError && /^(args|options)\b/.test(error.message)
    ? new SerializationError(`A call of '${name}' cannot be sent: ${error.message}`, { cause: error.cause })
    : error

const tooLarge = (name: string, size: number, most: number): SerializationError =>
  new SerializationError(`The arguments of '${name}' take ${overText(size, 'maxMessageSize', most)}.`)

export const queueFull = (maxQueue: number): QueueFullError =>
  new QueueFullError(`maxQueue (${maxQueue}) jobs are waiting already; wait for pool.ready(), or raise maxQueue.`)

const BROADCAST_NAMES = namesOf(BROADCAST_OPTIONS)

/** Refuses options that make sense for one job only (an id, memory that is moved). Throws TypeError. */
export const checkBroadcastOptions = (name: unknown, given: unknown): void =>
  refuseUnknownNames(`pool.broadcast('${nameText(name)}', …)`, plainObject('options', given ?? {}, BROADCAST_NAMES), BROADCAST_NAMES)

/** The id and the name that a refused call gives its job. Only texts count, because the options may be the reason for the refusal. */
const namesIn = (given: unknown): { id: string | undefined; calledAs: string | undefined } => {
  const { id, calledAs } = (given ?? {}) as { id?: unknown; calledAs?: unknown }
  return { id: typeof id === 'string' ? id : undefined, calledAs: typeof calledAs === 'string' && calledAs !== '' ? calledAs : undefined }
}

export const broadcastTooWide = (task: string, given: unknown, places: number, maxQueue: number): QueueFullError => {
  const name = namesIn(given).calledAs ?? task
  return new QueueFullError(
    places > maxQueue
      ? `A broadcast of '${name}' to ${places} workers can never be queued where maxQueue is ${maxQueue}: raise it.`
      : `There is no room in the queue (maxQueue, ${maxQueue}) for a broadcast of '${name}' to ${places} workers; wait for pool.ready(), or raise maxQueue.`,
  )
}

/** `calledAs`: the name that the job has instead of its task's name, if any. */
export const unknownTask = (name: string, known: readonly string[], calledAs?: string): TaskNotFoundError => {
  const near = nearest(name, known)
  const list = known.length === 0 ? 'The task modules export no function.' : `The tasks are: ${[...known].sort().join(', ')}.`
  const job = calledAs === undefined ? '' : ` for the job '${calledAs}'`
  return new TaskNotFoundError(`There is no task '${name}'${job}${near === undefined ? '.' : `; did you mean '${near}'?`} ${list}`, known)
}
