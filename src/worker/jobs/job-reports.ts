import { format } from 'node:util'
import { encode } from '../../wire/codec/index.js'
import { FRAME_HEAD } from '../../wire/frame.js'
import { Kind, type LogLine, type WorkerConfig } from '../../wire/messages.js'
import type { CurrentJob, JobLogger } from '../current-job.js'
import { type FrameJob, type FrameOutput, NO_JOB } from '../io/frame-output.js'
import type { InterruptibleCall } from './interruptible-call.js'
import type { WorkerJob } from './job.js'
import { JobLog } from './job-log.js'
import type { LoopClock } from './loop-options.js'
import type { OutgoingCalls } from './outgoing-calls.js'
import { ProgressThrottle } from './progress.js'

/** Lines in one frame, at most: the host handles a frame without a pause, and the lines of no job are unbounded. */
const FRAME_LINES = 1024

/** What a running job sends besides its result: lines, progress and calls. Makes the `currentJob()` through which it does. */
export class JobReports {
  readonly #output: FrameOutput
  readonly #call: InterruptibleCall
  readonly #calls: OutgoingCalls
  readonly #clock: LoopClock
  readonly #config: Pick<WorkerConfig, 'poolId' | 'maxMessageSize'>
  /** Lines of no job, or of one that has settled. */
  readonly #stray: JobLog

  constructor(output: FrameOutput, call: InterruptibleCall, calls: OutgoingCalls, clock: LoopClock, config: Pick<WorkerConfig, 'poolId' | 'maxMessageSize'>) {
    this.#output = output
    this.#call = call
    this.#calls = calls
    this.#clock = clock
    this.#config = config
    this.#stray = new JobLog(clock.wall, (lines) => this.#send(NO_JOB, lines), Number.POSITIVE_INFINITY)
  }

  /** A piece of output, written at once, so that it is not lost when the worker is killed a moment later. */
  write(job: WorkerJob | undefined, stream: 'stdout' | 'stderr', text: string): void {
    this.#call.protect(() => this.#logOf(job).write(stream, text))
  }

  progress(job: WorkerJob, value: unknown): void {
    if (job.settled) return
    this.#call.protect(() => {
      job.progress ??= new ProgressThrottle({
        now: this.#clock.now,
        later: this.#clock.later,
        maxMessageSize: this.#config.maxMessageSize,
        send: (encoded) => {
          if (job.settled) return
          this.#output.put(Kind.PROGRESS, 0, job, encoded)
          this.#output.flush()
        },
      })
      job.progress.report(value)
    })
  }

  /** Sends what waits, in front of the result. */
  flush(job: WorkerJob): void {
    job.progress?.flush()
    job.log?.flush()
  }

  /** The process ends: sends the unfinished lines of no job. */
  flushStray(): void {
    this.#stray.flush()
  }

  currentOf(job: WorkerJob): CurrentJob {
    job.current ??= this.#makeCurrent(job)
    return job.current
  }

  #makeCurrent(job: WorkerJob): CurrentJob {
    const { poolId } = this.#config
    const makeLog = (): JobLogger => this.#logger(job)
    let log: JobLogger | undefined
    return {
      name: job.name,
      attempt: job.attempt,
      progress: (value) => this.progress(job, value),
      call: (name, ...args) => this.#calls.call(job, name, args),
      get id() {
        return job.id(poolId)
      },
      get context() {
        return job.context
      },
      get delivery() {
        return job.delivered
      },
      get signal() {
        return job.signal
      },
      get log() {
        log ??= makeLog()
        return log
      },
    }
  }

  #logger(job: WorkerJob): JobLogger {
    const line = (...args: unknown[]): void => {
      const text = format(...args)
      this.#call.protect(() => this.#logOf(job).entry('log', text))
    }
    return Object.assign((...args: unknown[]) => line(...args), { debug: line, info: line, warn: line, error: line })
  }

  #logOf(job: WorkerJob | undefined): JobLog {
    if (job === undefined || job.settled) return this.#stray
    job.log ??= new JobLog(this.#clock.wall, (lines) => this.#send(job, lines))
    return job.log
  }

  #send(to: FrameJob, lines: readonly LogLine[]): void {
    for (let at = 0; at < lines.length; at += FRAME_LINES) this.#sendFrame(to, lines.length <= FRAME_LINES ? lines : lines.slice(at, at + FRAME_LINES))
  }

  #sendFrame(to: FrameJob, lines: readonly LogLine[]): void {
    const encoded = encode(lines, FRAME_HEAD)
    if (encoded.size <= this.#config.maxMessageSize) {
      this.#output.put(Kind.LOG, 0, to, encoded)
      this.#output.flush()
    } else if (lines.length > 1) {
      // The host would kill the worker for a frame over the limit.
      this.#sendFrame(to, lines.slice(0, lines.length >> 1))
      this.#sendFrame(to, lines.slice(lines.length >> 1))
    } else if (lines[0] !== undefined && lines[0].text.length > 1) {
      this.#sendFrame(to, [{ ...lines[0], text: lines[0].text.slice(0, lines[0].text.length >> 1) }])
    }
  }
}
