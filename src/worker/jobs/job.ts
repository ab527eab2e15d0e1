import { FLAG_PLACED } from '../../wire/arena/place.js'
import type { PlaceReader } from '../../wire/arena/place-reader.js'
import { decode } from '../../wire/codec/index.js'
import { ProtocolError } from '../../wire/errors.js'
import {
  attemptOf,
  deliveryOf,
  FRAME_HEAD,
  flagsOf,
  hardLimitOf,
  JOB_HEAD,
  jobOf,
  LENGTH_BYTES,
  SECTION_HEAD,
  sectionEnd,
  softLimitOf,
  taskIndexOf,
} from '../../wire/frame.js'
import { defaultJobId, FLAG_DELIVERY, FLAG_META, FLAG_NAME, FLAG_STREAM, type JobDelivery, type JobMeta } from '../../wire/messages.js'
import type { CurrentJob } from '../current-job.js'
import type { TaskRun } from '../tasks/load.js'
import type { ItemPump } from './item-pump.js'
import type { JobLog } from './job-log.js'
import type { ProgressThrottle } from './progress.js'

const notBegun: TaskRun = () => {
  throw new Error('This job has not begun')
}
const NO_META: JobMeta = {}

/** One JOB frame: first as bytes, then running in a slot. What few tasks use (signal, context, log …) is made when it is first read. */
export class WorkerJob {
  readonly flags: number
  readonly attempt: number
  readonly delivery: number
  /** The job's submission number in its pool. */
  readonly number: number
  readonly taskIndex: number
  readonly softLimit: number
  readonly hardLimit: number
  #bytes: Buffer
  #start: number
  #end: number
  #meta: JobMeta | undefined
  #delivered: JobDelivery | undefined
  #controller: AbortController | undefined
  #aborted = false
  #reason: unknown

  /** The task, once the job has a slot. */
  run: TaskRun = notBegun
  slot = -1
  /** The task, or a start hook, was called. */
  begun = false
  settled = false
  /** Its acceptance was recorded, then: ms on the monotonic clock of the machine. */
  recorded = false
  recordedAt = 0
  /** The task's name, or the one given in its place; known once the job has a slot. */
  name = ''
  current: CurrentJob | undefined
  log: JobLog | undefined
  progress: ProgressThrottle | undefined
  pump: ItemPump | undefined
  /** Credit that the pump has not got yet. */
  creditItems = 0
  creditBytes = 0
  /** The host has cancelled the job: a stream is closed. */
  cancelled = false
  /** It was cancelled, and its host waits for its task to end: its calls are answered until then. */
  mayCall = false
  softTimedOut = false

  constructor(bytes: Buffer, start: number, end: number) {
    if (end - start < JOB_HEAD) throw new ProtocolError(`A JOB frame of ${end - start} bytes is too short.`)
    const body = start + LENGTH_BYTES
    const payload = start + FRAME_HEAD
    this.flags = flagsOf(bytes, body)
    this.attempt = attemptOf(bytes, body)
    this.delivery = deliveryOf(bytes, body)
    this.number = jobOf(bytes, body)
    this.taskIndex = taskIndexOf(bytes, payload)
    this.softLimit = softLimitOf(bytes, payload)
    this.hardLimit = hardLimitOf(bytes, payload)
    this.#bytes = bytes
    this.#start = start
    this.#end = end
  }

  get streaming(): boolean {
    return (this.flags & FLAG_STREAM) !== 0
  }

  /** Its payload lies in shared memory until `fetch`. */
  get isPlaced(): boolean {
    return (this.flags & FLAG_PLACED) !== 0
  }

  /** Reads the payload. The body then begins at a multiple of 8, so that large binaries are aligned. */
  fetch(places: PlaceReader): void {
    const lead = 8 - LENGTH_BYTES
    this.#bytes = places.complete(this.#bytes, this.#start, this.#end, lead)
    this.#start = lead
    this.#end = this.#bytes.length
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

  /** The name given in place of the task's, if any. */
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

  /** The first abort counts, as with any signal. */
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

  /** The content of this flag's section, which would begin at `at`; undefined: there is none. */
  #section(flag: number, at: number): unknown {
    return (this.flags & flag) === 0 ? undefined : decode(this.#bytes.subarray(at + SECTION_HEAD, this.#behind(flag, at)), 0)
  }

  /** The place behind this flag's section, which would begin at `at`. */
  #behind(flag: number, at: number): number {
    return (this.flags & flag) === 0 ? at : sectionEnd(this.#bytes, at)
  }

  #frame(): Buffer {
    return this.#start === 0 && this.#end === this.#bytes.length ? this.#bytes : this.#bytes.subarray(this.#start, this.#end)
  }
}
