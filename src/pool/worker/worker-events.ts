import { inspect } from 'node:util'
import { escapeControl } from '../../util/shown-text.js'
import { decode } from '../../wire/codec/index.js'
import { ProtocolError } from '../../wire/errors.js'
import { type Fault, Kind, type LimitStage, type LogLine, type WorkerUp } from '../../wire/messages.js'
import { deathReason } from '../errors.js'
import type { FirstWorker } from '../first-worker.js'
import type { Fleet } from '../fleet/fleet.js'
import type { HealthMonitor } from '../fleet/health-monitor.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import { settleOrRequeueJobs } from '../jobs/jobs-of-dead-worker.js'
import type { PoolState } from '../pool-state.js'
import type { QueueCapacity } from '../queue/queue-capacity.js'
import type { SentKind } from './message-decoder.js'
import type { PoolWorker } from './worker.js'
import type { WorkerListener } from './worker-listener.js'

/** The parts of a pool that the events of its workers go to. */
export interface PoolParts {
  readonly state: PoolState
  readonly jobs: JobLifecycle
  readonly capacity: QueueCapacity
  readonly fleet: Fleet
  readonly health: HealthMonitor
  readonly firstWorker: FirstWorker
}

/** Passes each event of a worker to the parts of the pool that it concerns. */
export class WorkerEvents implements WorkerListener<PoolWorker> {
  readonly #pool: PoolState
  readonly #jobs: JobLifecycle
  readonly #capacity: QueueCapacity
  readonly #fleet: Fleet
  readonly #health: HealthMonitor
  readonly #firstWorker: FirstWorker
  readonly #warned = new WeakSet<PoolWorker>()

  constructor({ state, jobs, capacity, fleet, health, firstWorker }: PoolParts) {
    this.#pool = state
    this.#jobs = jobs
    this.#capacity = capacity
    this.#fleet = fleet
    this.#health = health
    this.#firstWorker = firstWorker
  }

  onUp(worker: PoolWorker, up: WorkerUp): void {
    const { events, hub, log } = this.#pool
    this.#pool.tasks = new Map(up.tasks.map((task) => [task.name, task]))
    const ms = hub.now() - worker.startedAt
    log?.info({ worker: worker.id, pid: up.pid, ms: Math.round(ms) }, 'worker up')
    if (events.wants('workerUp')) events.emit('workerUp', { worker: worker.id, pid: up.pid, ms })
    this.#fleet.up(worker)
    this.#health.up(worker)
    this.#firstWorker.resolve()
  }

  onAccepted(worker: PoolWorker, job: JobRecord): void {
    const pool = this.#pool
    if (pool.starts.jobAccepted()) pool.requestBalance()
    this.#jobs.accepted(worker, job, worker.progress.lastAt)
    if (!job.isSettled) job.items?.grant(worker, job)
    if (this.#capacity.hasWaiters) pool.hub.wake()
    // Checked now, not at the answer: the successor starts while the last job runs.
    this.#health.check(worker)
  }

  onAnswered(worker: PoolWorker, job: JobRecord, flags: number, payload: Buffer, ended: number): void {
    this.#jobs.answered(job, flags, payload, worker.progress.lastAt, ended)
    this.#health.check(worker)
    this.#roomMade(worker)
  }

  onSent(worker: PoolWorker, job: JobRecord, kind: SentKind, payload: Buffer): void {
    if (job.isSettled) return
    if (kind === Kind.ITEM) this.#item(worker, job, payload)
    else if (kind === Kind.PROGRESS) this.#progress(worker, job, payload)
    else this.#called(worker, job, payload)
  }

  #called(worker: PoolWorker, job: JobRecord, payload: Buffer): void {
    const { calls } = job.spec
    if (calls === undefined) throw new ProtocolError(`A CALL of '${job.name}', which was given no calls.`)
    // The worker of this call is being killed.
    if (this.#pool.phase === 'terminating') return
    calls.receive(job.name, job.delivery, payload, worker.answers)
  }

  #item(worker: PoolWorker, job: JobRecord, payload: Buffer): void {
    if (job.items === undefined) return
    if (!job.streamed) {
      job.streamed = true
      // The isolation of a stream that runs again ends with its first item.
      if (worker.reserved.retrying === job) this.#pool.hub.wake()
    }
    const decoded = this.#decode(worker, job, 'An item', payload)
    if (decoded !== undefined) job.items.item(decoded.value, payload.length)
  }

  #progress(worker: PoolWorker, job: JobRecord, payload: Buffer): void {
    const decoded = this.#decode(worker, job, 'A progress value', payload)
    if (decoded === undefined) return
    job.notify((follower) => follower.progressed?.(job, decoded.value))
    job.emit('progress', decoded.value)
  }

  /** Undefined: the payload cannot be decoded (nested too deep, for example). That ends this job alone. */
  #decode(worker: PoolWorker, job: JobRecord, what: string, payload: Buffer): { value: unknown } | undefined {
    try {
      return { value: payload.length === 0 ? undefined : decode(payload, 0) }
    } catch (cause) {
      this.#jobs.undecodable(worker, job, what, cause)
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
    if (job === undefined) return
    job.notify((follower) => follower.logged?.(job, worker.id, lines))
    if (events.wants('jobLog')) events.emit('jobLog', { id: job.id, name: job.name, worker: worker.id, lines })
  }

  onFault(worker: PoolWorker, fault: Fault, job: JobRecord | undefined): void {
    const { events, log } = this.#pool
    log?.error({ worker: worker.id, job: job?.id, err: fault.error }, `${fault.type} in a worker`)
    if (events.wants('workerFault')) events.emit('workerFault', { worker: worker.id, type: fault.type, error: fault.error, job: job?.id })
    else if (log === undefined) this.#warn(worker, fault, job)
  }

  /**
   * Without a listener and a logger an error that no task caught becomes a warning of the host's: a plain Node process would have
   * printed it, and ended. Once for each worker: a task that fails so a thousand times would hide everything else that the host prints.
   */
  #warn(worker: PoolWorker, { type, error }: Fault, job: JobRecord | undefined): void {
    if (this.#warned.has(worker)) return
    this.#warned.add(worker)
    const where = job === undefined ? `worker ${worker.id}` : `worker ${worker.id}, in the job '${escapeControl(job.name)}'`
    process.emitWarning(
      `An ${type} in ${where}: no task caught it, and no job rejects with it. Each is in the event 'workerFault' of the pool, and in its log.`,
      { type: 'PreforkWarning', code: 'PREFORK_WORKER_FAULT', detail: inspect(error) },
    )
  }

  onHeartbeat(worker: PoolWorker): void {
    this.#health.heartbeat(worker)
    // The dispatcher recalls the jobs of a worker whose main thread has not turned for long.
    if (worker.jobs.sent.size > 0) this.#pool.hub.wake()
  }

  onRecalled(worker: PoolWorker, back: JobRecord[]): void {
    this.#jobs.recalled(worker, back)
    this.#roomMade(worker)
  }

  /** The worker has fewer jobs. It has room for another, or may quit if it drains. */
  #roomMade(worker: PoolWorker): void {
    const { jobQueue, orphanedJobs, workers, hub } = this.#pool
    if (worker.isDraining) this.#pool.requestBalance()
    else if (jobQueue.size > 0 || !orphanedJobs.empty) hub.wake()
    else {
      for (const each of workers.values()) {
        if (!each.reserved.idle) hub.wake()
      }
    }
  }

  onLimit(worker: PoolWorker, delivery: number, stage: LimitStage, stack: string): void {
    this.#jobs.limit(worker, delivery, stage, stack)
  }

  onDamaged(): void {
    this.#pool.requestBalance()
  }

  onExit(worker: PoolWorker): void {
    this.#fleet.workerExit.exited(worker)
  }

  onOutputRead(worker: PoolWorker): void {
    const { events } = this.#pool
    const jobs = [...worker.jobs.running].map((job) => job.id)
    settleOrRequeueJobs(this.#pool, this.#jobs, worker)
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
    this.#fleet.workerExit.outputRead(worker)
  }
}
