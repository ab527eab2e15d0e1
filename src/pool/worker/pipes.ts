import type { Hub, Reader, Writer } from '../../hub/index.js'
import { FIXED_BYTES, PULL_BYTES, STATS_BYTES, TIMES_BYTES, writeCredit } from '../../wire/frame.js'
import { frameReader } from '../../wire/frame-reader.js'
import { FrameWriter, type JobHead } from '../../wire/frame-writer.js'
import { Kind, type LogLine, SMALL_MESSAGE_MAX } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import { CallAnswers } from './call-answers.js'
import type { InFlightJobs } from './in-flight-jobs.js'
import type { LaunchedProcess } from './launch/launcher.js'
import { LIFELINE_MAX, WorkerLifeline } from './lifeline.js'
import { lifelineDecoder, resultsDecoder, type WorkerMessageHandler } from './message-decoder.js'
import { JobPlaces } from './shared-memory/job-places.js'
import { type OutputMode, WorkerOutput } from './worker-output.js'

export interface PipeSettings {
  /** Bytes of one value. */
  maxMessageSize: number
  output: OutputMode
}

export type PipeName = 'jobs' | 'results' | 'lifeline'

/** Filled in for each job, and read before the next. */
const head: JobHead = { delivery: 0, job: 0, attempt: 0, flags: 0, task: 0, softLimit: 0, hardLimit: 0 }

/** The host's ends of the pipes of one worker. Each message that comes goes to `handler`. */
export class WorkerPipes {
  /** Gathers the frames to the worker's main thread in one tick. */
  readonly writer: FrameWriter
  /** Written ahead of the frames that `writer` has gathered. */
  readonly answers: CallAnswers
  /** To the worker's watchdog. */
  readonly lifeline: WorkerLifeline
  readonly results: Reader
  /** The pipes that carry messages, without stdout and stderr. */
  readonly readers: readonly Reader[]
  readonly output: WorkerOutput
  /** Undefined: all goes through the pipes. */
  readonly places: JobPlaces | undefined
  readonly #jobs: Writer

  /** `onEnd`: this pipe has ended, for reading or for writing. `onLine`: a line of captured output. `onOutputEnd`: stdout or stderr has ended. */
  constructor(
    hub: Hub,
    launched: LaunchedProcess,
    settings: PipeSettings,
    handler: WorkerMessageHandler,
    onEnd: (pipe: PipeName, error?: Error) => void,
    onLine: (line: LogLine) => void,
    onOutputEnd: () => void,
  ) {
    const maxFrame = Math.max(settings.maxMessageSize, SMALL_MESSAGE_MAX) + FIXED_BYTES + STATS_BYTES + TIMES_BYTES
    const lifelineEnd = (error?: Error): void => onEnd('lifeline', error)
    this.places = launched.memory === undefined ? undefined : new JobPlaces(launched.memory, maxFrame)
    const decoder = resultsDecoder(handler)
    const sink = this.places?.complete(decoder, hub.costly) ?? decoder
    this.results = hub.addReader(launched.results, frameReader(sink, maxFrame, hub.isTurnOver), (error) => onEnd('results', error))
    this.readers = [this.results, hub.addReader(launched.lifeline, frameReader(lifelineDecoder(handler), LIFELINE_MAX), lifelineEnd)]
    this.answers = new CallAnswers(
      settings.maxMessageSize,
      (fn) => hub.clock.afterCode(fn),
      () => this.#jobs.wake(),
    )
    this.writer = new FrameWriter(this.answers)
    this.#jobs = hub.addWriter(launched.jobs, this.writer.generator(launched.jobs), (error) => onEnd('jobs', error))
    this.lifeline = new WorkerLifeline(hub, launched.lifeline, lifelineEnd)
    this.output = new WorkerOutput(hub, launched, settings.output, onLine, onOutputEnd)
  }

  /** Some bytes written are not yet in the kernel. */
  get writing(): boolean {
    return !this.writer.empty || this.#jobs.pending > 0
  }

  /** The kernel's buffer is full: the worker does not read. */
  get blocked(): boolean {
    return this.#jobs.full
  }

  /** The worker can read frames by place. */
  usePlaces(jobs: InFlightJobs): void {
    if (this.places === undefined) return
    const { from, capacity } = this.places.jobs
    this.writer.places = this.places.jobs
    jobs.setPlaces(from, capacity)
  }

  /** Writes the frames gathered in this tick. */
  flush(): void {
    if (!this.writer.empty) this.#jobs.wake()
  }

  /** A JOB. `task`: its index in the worker's own table. True: it went by place. */
  job(job: JobRecord, task: number): boolean {
    const { spec } = job
    head.delivery = job.delivery
    head.job = spec.number
    head.attempt = job.attempt
    head.flags = spec.flags
    head.task = task
    head.softLimit = job.limits.softLimit
    head.hardLimit = job.limits.hardLimit
    return this.writer.job(head, spec.parts, spec.size)
  }

  /** Credit for a stream. */
  pull(delivery: number, items: number, bytes: number): void {
    const payload = Buffer.allocUnsafe(PULL_BYTES)
    writeCredit(payload, 0, items, bytes)
    this.writer.frame(Kind.PULL, 0, delivery, 0, payload)
    this.#jobs.wake()
  }

  quit(): void {
    this.writer.frame(Kind.QUIT, 0, 0, 0)
    this.#jobs.wake()
  }

  /** The process is gone: nothing more is written. */
  stop(): void {
    this.#jobs.stop()
    this.answers.stop()
    this.lifeline.stop()
  }
}
