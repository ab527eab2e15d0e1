import { plainObject, refuseUnknownNames } from '../../util/checks.js'
import { nearest } from '../../util/nearest.js'
import { namesOf } from '../../util/option-table.js'
import { EMPTY_ARRAY, type EncodeOptions, encode } from '../../wire/codec/index.js'
import { QueueFullError, SerializationError, TaskNotFoundError } from '../../wire/errors.js'
import { JOB_HEAD, LENGTH_BYTES } from '../../wire/frame.js'
import { FLAG_DELIVERY, FLAG_META, FLAG_NAME, FLAG_STREAM } from '../../wire/messages.js'
import { closedError } from '../errors.js'
import type { PoolState } from '../pool-state.js'
import { type JobOwner, JobRecord, type JobSpec } from './job.js'
import { DeliverySections, metaSection } from './job-sections.js'
import { BROADCAST_OPTIONS, type JobOptions, mergeOptions } from './run-options.js'

const NO_META: readonly Uint8Array[] = []
const NO_ARGS: readonly Uint8Array[] = [EMPTY_ARRAY.body]
const ARGS_AT = JOB_HEAD - LENGTH_BYTES
const ARGS: EncodeOptions = { copyBinaries: true, root: 'args', at: ARGS_AT }

/** Through which method of the pool a job is submitted. */
export interface CallKind {
  /** The method's name, for errors: 'run', 'submit' … */
  call: string
  stream?: boolean
  /** What the job is called instead of its task. */
  calledAs?: string
}

export const RUN: CallKind = { call: 'run' }
export const SUBMIT: CallKind = { call: 'submit' }
export const MAP: CallKind = { call: 'map' }
export const STREAM: CallKind = { call: 'stream', stream: true }
export const BROADCAST: CallKind = { call: 'broadcast' }

/** Checks and encodes everything about a job at the call. For a call that is refused a job is made all the same: it rejects, and nothing of it is written. */
export class Submission {
  readonly #pool: PoolState
  readonly #owner: JobOwner
  readonly #deliveries = new DeliverySections()
  #number = 0

  constructor(pool: PoolState, owner: JobOwner) {
    this.#pool = pool
    this.#owner = owner
  }

  /** A new job; one that is refused has settled already. */
  make(kind: CallKind, name: unknown, args: unknown, given: unknown): JobRecord {
    const number = ++this.#number
    try {
      return new JobRecord(this.#owner, this.#spec(number, kind, name, args, given))
    } catch (error) {
      const id = typeof (given as { id?: unknown } | undefined)?.id === 'string' ? (given as { id: string }).id : undefined
      const job = new JobRecord(this.#owner, this.#build(number, nameText(name), id, NO_META, 0, 0, undefined, kind.calledAs))
      job.markBegan(false)
      job.settle({ state: 'failed', error })
      return job
    }
  }

  /** Throws where the call is refused. */
  #spec(number: number, { call, stream, calledAs }: CallKind, name: unknown, args: unknown, given: unknown): JobSpec {
    const { phase, tasks, settings, queued } = this.#pool
    if (phase !== 'open') throw closedError(`pool.${call}('${nameText(name)}')`)
    if (typeof name !== 'string') throw new TypeError(`A task is called by its name: pool.${call}('name', [arguments]).`)
    const task = tasks.get(name)
    if (task === undefined) throw unknownTask(name, [...tasks.keys()])
    if (args !== undefined && !Array.isArray(args)) {
      throw new TypeError(`The arguments of a task are an array: pool.${call}('${name}', [${typeof args === 'string' ? `'${args}'` : '…'}]).`)
    }
    const options = mergeOptions(settings, task, given, call)
    if (queued >= settings.maxQueue) {
      throw queueFull(settings.maxQueue)
    }
    const meta = metaSection(options, calledAs)
    const delivery = this.#deliveries.of(options)
    const sections = (meta?.length ?? 0) + (delivery?.length ?? 0)
    const { transfer } = options
    const how = sections === 0 && transfer === undefined ? ARGS : { ...ARGS, at: ARGS_AT + sections, ...(transfer && { transfer }) }
    const { body, binaries, size } = encode(args ?? [], 0, how)
    let flags = stream ? FLAG_STREAM : 0
    let parts: readonly Uint8Array[] = body === EMPTY_ARRAY.body ? NO_ARGS : [body, ...binaries]
    const total = size + sections
    if (delivery !== undefined) {
      flags |= FLAG_DELIVERY
      parts = [delivery, ...parts]
    }
    if (calledAs !== undefined) flags |= FLAG_NAME
    if (meta !== undefined) {
      flags |= FLAG_META
      parts = [meta, ...parts]
    }
    if (total > settings.maxMessageSize) {
      throw new SerializationError(`The arguments of '${calledAs ?? name}' take ${total} bytes, more than maxMessageSize (${settings.maxMessageSize}).`)
    }
    return this.#build(number, name, options.id, parts, total, flags, options, calledAs)
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
      submittedAt: this.#pool.hub.now(),
      signal: options?.signal,
    }
  }
}

/** The text of anything that was given as a name; its refusal must not throw. */
export const nameText = (name: unknown): string => {
  try {
    return String(name)
  } catch {
    return `a ${typeof name} without a text`
  }
}

export const queueFull = (maxQueue: number): QueueFullError =>
  new QueueFullError(`maxQueue (${maxQueue}) jobs are waiting already; wait for pool.ready(), or raise maxQueue.`)

const BROADCAST_NAMES = namesOf(BROADCAST_OPTIONS)

/** What makes sense for one job alone (an id, memory that is moved) is refused. Throws TypeError. */
export const checkBroadcastOptions = (name: unknown, given: unknown): void =>
  refuseUnknownNames(`pool.broadcast('${nameText(name)}', …)`, plainObject('options', given ?? {}), BROADCAST_NAMES)

export const broadcastTooWide = (name: string, places: number, maxQueue: number): QueueFullError =>
  new QueueFullError(
    places > maxQueue
      ? `A broadcast of '${name}' to ${places} workers can never be queued where maxQueue is ${maxQueue}: raise it.`
      : `There is no room in the queue (maxQueue, ${maxQueue}) for a broadcast of '${name}' to ${places} workers; wait for pool.ready(), or raise maxQueue.`,
  )

export const unknownTask = (name: string, known: readonly string[]): TaskNotFoundError => {
  const near = nearest(name, known)
  const list = known.length === 0 ? 'The task modules export no function.' : `The tasks are: ${[...known].sort().join(', ')}.`
  return new TaskNotFoundError(`There is no task '${name}'${near === undefined ? '.' : `; did you mean '${near}'?`} ${list}`, known)
}
