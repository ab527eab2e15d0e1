import { EMPTY_ARRAY, encode } from '../wire/codec/index.js'
import { QueueFullError, SerializationError, TaskNotFoundError } from '../wire/errors.js'
import { FLAG_META, FLAG_STREAM, JOB_HEAD, type JobMeta, LENGTH_BYTES } from '../wire/messages.js'
import { nearest } from '../wire/nearest.js'
import { type JobOwner, JobRecord, type JobSpec } from './job.js'
import { closedError } from './refusals.js'
import { type JobOptions, mergeOptions } from './run-options.js'
import type { PoolState } from './state.js'

const NO_META: readonly Uint8Array[] = []
const NO_ARGS: readonly Uint8Array[] = [EMPTY_ARRAY.body]

/** What is asked of the pool beside the job itself. */
export interface Wish {
  /** The call's name, for its errors: 'run', 'submit' … */
  call: string
  stream?: boolean
}

/**
 * The door: everything about a job is checked and encoded here, at the call. A job that is refused exists all the same, and
 * rejects; nothing of it is written.
 */
export class Submission {
  readonly #pool: PoolState
  readonly #owner: JobOwner
  #number = 0

  constructor(pool: PoolState, owner: JobOwner) {
    this.#pool = pool
    this.#owner = owner
  }

  /** A new job and its options; a refused one has settled already (`options` undefined). */
  make(wish: Wish, name: unknown, args: unknown, given: unknown): { job: JobRecord; options: JobOptions | undefined } {
    const number = ++this.#number
    try {
      const { spec, options } = this.#admit(number, wish, name, args, given)
      return { job: new JobRecord(this.#owner, spec), options }
    } catch (error) {
      const id = typeof (given as { id?: unknown } | undefined)?.id === 'string' ? (given as { id: string }).id : undefined
      const job = new JobRecord(this.#owner, this.#spec(number, nameText(name), id, NO_META, 0, 0))
      job.markBegan(false)
      job.settle({ state: 'failed', error })
      return { job, options: undefined }
    }
  }

  #admit(number: number, { call, stream }: Wish, name: unknown, args: unknown, given: unknown): { spec: JobSpec; options: JobOptions } {
    const { phase, tasks, settings, queued } = this.#pool
    if (phase !== 'open') throw closedError(`pool.${call}('${nameText(name)}')`)
    if (typeof name !== 'string') throw new TypeError(`A task is called by its name: pool.${call}('name', [arguments]).`)
    const task = tasks.get(name)
    if (task === undefined) throw unknownTask(name, [...tasks.keys()])
    if (args !== undefined && !Array.isArray(args)) {
      throw new TypeError(`The arguments of a task are an array: pool.${call}('${name}', [${typeof args === 'string' ? `'${args}'` : '…'}]).`)
    }
    const options = mergeOptions(settings, task, given)
    if (queued >= settings.maxQueue) {
      throw queueFull(settings.maxQueue)
    }
    const meta = options.id !== undefined || options.context !== undefined || options.delivery !== undefined ? this.#meta(options) : undefined
    const { body, binaries, size } = encode(args ?? [], 0, {
      copyBinaries: true,
      root: 'args',
      at: JOB_HEAD - LENGTH_BYTES + (meta?.length ?? 0),
      ...(options.transfer === undefined ? {} : { transfer: options.transfer }),
    })
    let flags = stream ? FLAG_STREAM : 0
    let parts: readonly Uint8Array[] = body === EMPTY_ARRAY.body ? NO_ARGS : [body, ...binaries]
    let total = size
    if (meta !== undefined) {
      flags |= FLAG_META
      total += meta.length
      parts = [meta, ...parts]
    }
    if (total > settings.maxMessageSize) {
      throw new SerializationError(`The arguments of '${name}' take ${total} bytes, more than maxMessageSize (${settings.maxMessageSize}).`)
    }
    return { spec: this.#spec(number, name, options.id, parts, total, flags, options), options }
  }

  #meta({ id, context, delivery }: JobOptions): Buffer {
    const meta: JobMeta = {}
    if (id !== undefined) meta.id = id
    if (context !== undefined) meta.context = context
    if (delivery !== undefined) meta.delivery = delivery
    const { body, binaries } = encode(meta, 4, { copyBinaries: true, root: 'options' })
    const all = binaries.length === 0 ? body : Buffer.concat([body, ...binaries])
    all.writeUInt32LE(all.length - 4, 0)
    return all
  }

  #spec(number: number, name: string, id: string | undefined, parts: readonly Uint8Array[], size: number, flags: number, options?: JobOptions): JobSpec {
    return {
      number,
      name,
      id,
      priority: options?.priority ?? 0,
      softLimit: options?.softLimit ?? 0,
      hardLimit: options?.hardLimit ?? 0,
      retryLost: options?.retryLost ?? 0,
      flags,
      parts,
      size,
      submittedAt: this.#pool.hub.now(),
    }
  }
}

/** A name that is none must not throw in the midst of its refusal. */
export const nameText = (name: unknown): string => {
  try {
    return String(name)
  } catch {
    return `a ${typeof name} without a text`
  }
}

export const queueFull = (maxQueue: number): QueueFullError =>
  new QueueFullError(`maxQueue (${maxQueue}) jobs are waiting already; wait for pool.ready(), or raise maxQueue.`)

export const unknownTask = (name: string, known: readonly string[]): TaskNotFoundError => {
  const near = nearest(name, known)
  const list = known.length === 0 ? 'The task modules export no function.' : `The tasks are: ${[...known].sort().join(', ')}.`
  return new TaskNotFoundError(`There is no task '${name}'${near === undefined ? '.' : `; did you mean '${near}'?`} ${list}`, known)
}
