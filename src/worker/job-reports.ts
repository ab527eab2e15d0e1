import { format } from 'node:util'
import { encode } from '../wire/codec/index.js'
import { FRAME_HEAD, Kind, type LogLine } from '../wire/messages.js'
import type { CurrentJob, JobLogger } from './current-job.js'
import type { WorkerJob } from './job.js'
import { JobLog } from './job-log.js'
import type { LoopClock } from './loop-options.js'
import type { Output } from './output.js'
import { ProgressValve } from './progress.js'
import type { TaskCall } from './task-call.js'

const NOBODY = { attempt: 0, delivery: 0, number: 0 } as const

/** What a running job tells besides its result: lines and progress. And `currentJob()`, through which it does. */
export class JobReports {
  readonly #output: Output
  readonly #call: TaskCall
  readonly #clock: LoopClock
  readonly #poolId: string
  /** Lines of no job, or of one that has settled. */
  readonly #stray: JobLog

  constructor(output: Output, call: TaskCall, clock: LoopClock, poolId: string) {
    this.#output = output
    this.#call = call
    this.#clock = clock
    this.#poolId = poolId
    this.#stray = new JobLog(clock.wall, (lines) => this.#send(NOBODY, lines), Number.POSITIVE_INFINITY)
  }

  /** A piece of output, written at once: it exists also when the worker is killed a moment later. */
  write(job: WorkerJob | undefined, stream: 'stdout' | 'stderr', text: string): void {
    this.#call.protect(() => this.#logOf(job).write(stream, text))
  }

  progress(job: WorkerJob, value: unknown): void {
    if (job.settled) return
    this.#call.protect(() => {
      job.progress ??= new ProgressValve({
        now: this.#clock.now,
        later: this.#clock.later,
        send: (encoded) => {
          if (job.settled) return
          this.#output.put(Kind.PROGRESS, 0, job, encoded)
          this.#output.flush()
        },
      })
      job.progress.report(value)
    })
  }

  /** Sends what is held back, before the result. */
  flush(job: WorkerJob): void {
    job.progress?.flush()
    job.log?.flush()
  }

  /** The process ends. */
  flushStray(): void {
    this.#stray.flush()
  }

  currentOf(job: WorkerJob): CurrentJob {
    job.current ??= this.#makeCurrent(job)
    return job.current
  }

  #makeCurrent(job: WorkerJob): CurrentJob {
    const poolId = this.#poolId
    const makeLog = (): JobLogger => this.#logger(job)
    let log: JobLogger | undefined
    return {
      name: job.name,
      attempt: job.attempt,
      progress: (value) => this.progress(job, value),
      get id() {
        return job.id(poolId)
      },
      get context() {
        return job.context
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

  #send(of: { attempt: number; delivery: number; number: number }, lines: readonly LogLine[]): void {
    this.#output.put(Kind.LOG, 0, of, encode(lines, FRAME_HEAD))
    this.#output.flush()
  }
}
