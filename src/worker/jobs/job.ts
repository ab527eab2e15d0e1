import { decode } from '../../wire/codec/index.js'
import { ProtocolError } from '../../wire/errors.js'
import { defaultJobId, FLAG_DELIVERY, FLAG_META, FLAG_NAME, FLAG_STREAM, JOB_HEAD, type JobDelivery, type JobMeta, LENGTH_BYTES } from '../../wire/messages.js'
import type { CurrentJob } from '../current-job.js'
import type { TaskRun } from '../tasks/registry.js'
import type { ItemPump } from './item-pump.js'
import type { JobLog } from './job-log.js'
import type { ProgressValve } from './progress.js'

const notTakenUp: TaskRun = () => {
  throw new Error('This job has not been taken up')
}
const NO_META: JobMeta = {}

/** One JOB frame: first held as bytes, then running in a slot. Whatever few tasks use (signal, context, log …) is made when first asked for. */
export class WorkerJob {
  readonly flags: number
  readonly attempt: number
  readonly delivery: number
  /** The job's submission number in its pool. */
  readonly number: number
  readonly taskIndex: number
  readonly softLimit: number
  readonly hardLimit: number
  readonly #bytes: Buffer
  readonly #start: number
  readonly #end: number
  #meta: JobMeta | undefined
  #delivered: JobDelivery | undefined
  #controller: AbortController | undefined
  #aborted = false
  #reason: unknown

  /** The task, once taken up. */
  run: TaskRun = notTakenUp
  slot = -1
  /** The task's code (or a hook before it) was called. */
  begun = false
  settled = false
  /** What it is called, known once it is taken up: the task's name, or that by which the task was found. */
  name = ''
  current: CurrentJob | undefined
  log: JobLog | undefined
  progress: ProgressValve | undefined
  pump: ItemPump | undefined
  /** Credit that came before the pump was made. */
  creditItems = 0
  creditBytes = 0
  /** The call was cancelled by the host: a stream is closed. */
  cancelled = false
  softTimedOut = false

  constructor(bytes: Buffer, start: number, end: number) {
    if (end - start < JOB_HEAD) throw new ProtocolError(`A JOB frame of ${end - start} bytes is too short.`)
    this.flags = bytes[start + 5]!
    this.attempt = bytes.readUInt16LE(start + 6)
    this.delivery = bytes.readUInt32LE(start + 8)
    this.number = bytes.readDoubleLE(start + 12)
    this.taskIndex = bytes.readUInt16LE(start + 20)
    this.softLimit = bytes.readUInt32LE(start + 24)
    this.hardLimit = bytes.readUInt32LE(start + 28)
    this.#bytes = bytes
    this.#start = start
    this.#end = end
  }

  get streaming(): boolean {
    return (this.flags & FLAG_STREAM) !== 0
  }

  /** Decodes the arguments; throws a SerializationError (or a RangeError for values nested too deep). */
  args(): unknown[] {
    const args = decode(this.#frame(), this.#behind(FLAG_DELIVERY, this.#behind(FLAG_META, this.#start + JOB_HEAD)) - this.#start)
    if (!Array.isArray(args)) throw new ProtocolError('The arguments of a job are not an array.')
    return args
  }

  id(poolId: string): string {
    return this.#metaOf().id ?? defaultJobId(poolId, this.number)
  }

  /** What it is called instead of its task, if anything. */
  get calledAs(): string | undefined {
    return (this.flags & FLAG_NAME) === 0 ? undefined : this.#metaOf().name
  }

  get context(): unknown {
    return this.#metaOf().context
  }

  get delivered(): JobDelivery | undefined {
    this.#delivered ??= this.#section(FLAG_DELIVERY, this.#behind(FLAG_META, this.#start + JOB_HEAD)) as JobDelivery | undefined
    return this.#delivered
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Only the first abort counts, as with any signal. */
  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  #metaOf(): JobMeta {
    if (this.#meta !== undefined) return this.#meta
    this.#meta = (this.#section(FLAG_META, this.#start + JOB_HEAD) ?? NO_META) as JobMeta
    return this.#meta
  }

  /** What the section of this flag holds, which would begin at `at`; undefined: there is none. */
  #section(flag: number, at: number): unknown {
    return (this.flags & flag) === 0 ? undefined : decode(this.#bytes.subarray(at + LENGTH_BYTES, this.#behind(flag, at)), 0)
  }

  #behind(flag: number, at: number): number {
    return (this.flags & flag) === 0 ? at : at + LENGTH_BYTES + this.#bytes.readUInt32LE(at)
  }

  #frame(): Buffer {
    return this.#start === 0 && this.#end === this.#bytes.length ? this.#bytes : this.#bytes.subarray(this.#start, this.#end)
  }
}
