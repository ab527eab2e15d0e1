import { decode } from '../../wire/codec/index.js'
import type { Fault, LimitStage, LogLine, WorkerUp } from '../../wire/messages.js'
import { deathReason } from '../errors.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import type { PoolState } from '../pool-state.js'
import { UnhandledFaults } from './unhandled-faults.js'
import type { PoolWorker } from './worker.js'
import type { WorkerOwner } from './worker-owner.js'

export interface PoolActions {
  up(worker: PoolWorker): void
  /** There is more room in the queue. */
  accepted(): void
  /** A worker has accepted a job. */
  proven(): void
  /** Is it due for recycling? */
  checkRecycling(worker: PoolWorker): void
  /** Its heartbeat has come. */
  heartbeat(worker: PoolWorker): void
  /** A worker that is to leave holds less, or one was found damaged. */
  changed(): void
  exited(worker: PoolWorker): void
  drained(worker: PoolWorker): void
}

/** Where the workers report: each report goes to the part of the pool it concerns. */
export class WorkerEvents implements WorkerOwner {
  readonly #pool: PoolState
  readonly #life: JobLifecycle
  readonly #events: PoolActions
  readonly #unheard = new UnhandledFaults()

  constructor(pool: PoolState, life: JobLifecycle, events: PoolActions) {
    this.#pool = pool
    this.#life = life
    this.#events = events
  }

  onUp(worker: PoolWorker, up: WorkerUp): void {
    const { events, hub, log } = this.#pool
    this.#pool.tasks = new Map(up.tasks.map((task) => [task.name, task]))
    const ms = hub.now() - worker.startedAt
    log?.info({ worker: worker.id, pid: up.pid, ms: Math.round(ms) }, 'worker up')
    if (events.wants('workerUp')) events.emit('workerUp', { worker: worker.id, pid: up.pid, ms })
    this.#events.up(worker)
  }

  onAccepted(worker: PoolWorker, job: JobRecord): void {
    this.#events.proven()
    this.#life.accepted(worker, job, worker.lastProgressAt)
    if (!job.isSettled) job.items?.granted(worker, job)
    this.#events.accepted()
    // Judged now, not at its answer: the successor starts while the last job runs.
    this.#events.checkRecycling(worker)
  }

  onAnswered(worker: PoolWorker, job: JobRecord, flags: number, payload: Buffer): void {
    this.#life.answered(job, flags, payload, worker.lastProgressAt)
    this.#events.checkRecycling(worker)
    this.#moved(worker)
  }

  onItem(worker: PoolWorker, job: JobRecord, payload: Buffer): void {
    if (job.isSettled || job.items === undefined) return
    if (!job.streamed) {
      job.streamed = true
      // A stream that ran alone is alone no more.
      if (worker.isolatedRetry === job) this.#pool.hub.wake()
    }
    const value = this.#read(worker, job, 'An item', payload)
    if (value !== undefined) job.items.item(value.read, payload.length)
  }

  onProgress(worker: PoolWorker, job: JobRecord, payload: Buffer): void {
    if (job.isSettled) return
    const value = this.#read(worker, job, 'A progress value', payload)
    if (value !== undefined) job.emit('progress', value.read)
  }

  /** Undefined: it cannot be read (nested too deep, for one), which ends that job alone. */
  #read(worker: PoolWorker, job: JobRecord, what: string, payload: Buffer): { read: unknown } | undefined {
    try {
      return { read: payload.length === 0 ? undefined : decode(payload, 0) }
    } catch (cause) {
      this.#life.unreadable(worker, job, what, cause)
      return undefined
    }
  }

  onLog(worker: PoolWorker, job: JobRecord | undefined, lines: LogLine[]): void {
    const { events, log } = this.#pool
    for (const line of lines) {
      if (job !== undefined) job.addLog(line)
      else if (events.wants('output')) events.emit('output', { worker: worker.id, line })
      log?.debug({ worker: worker.id, job: job?.id, stream: line.stream }, line.text)
    }
    if (job !== undefined && events.wants('jobLog')) events.emit('jobLog', { id: job.id, name: job.name, worker: worker.id, lines })
  }

  onFault(worker: PoolWorker, fault: Fault, job: JobRecord | undefined): void {
    const { events, log } = this.#pool
    log?.error({ worker: worker.id, job: job?.id, err: fault.error }, `${fault.type} in a worker`)
    if (events.wants('workerFault')) events.emit('workerFault', { worker: worker.id, type: fault.type, error: fault.error, job: job?.id })
    else if (log === undefined) this.#unheard.warn(worker, fault, job)
  }

  onHeartbeat(worker: PoolWorker): void {
    this.#events.heartbeat(worker)
  }

  onRecalled(worker: PoolWorker, back: JobRecord[]): void {
    this.#life.recalled(worker, back)
    this.#moved(worker)
  }

  /** It has room again; or, on its way out, perhaps nothing left to do. */
  #moved(worker: PoolWorker): void {
    if (worker.state === 'draining') this.#events.changed()
    else this.#pool.hub.wake()
  }

  onLimit(worker: PoolWorker, delivery: number, stage: LimitStage, stack: string): void {
    this.#life.limit(worker, delivery, stage, stack)
  }

  onDamaged(): void {
    this.#events.changed()
  }

  onExit(worker: PoolWorker): void {
    this.#events.exited(worker)
  }

  onDrained(worker: PoolWorker): void {
    const { events } = this.#pool
    const jobs = [...worker.jobs.running].map((job) => job.id)
    this.#life.workerGone(worker)
    if (events.wants('workerExit')) {
      events.emit('workerExit', {
        worker: worker.id,
        pid: worker.pid,
        exitCode: worker.exit?.exitCode ?? null,
        signal: worker.exit?.signal ?? null,
        reason: deathReason(worker),
        expected: worker.expected,
        stderr: worker.stderr,
        jobs,
      })
    }
    this.#events.drained(worker)
  }
}
