import type { Fault, LimitStage, LogLine, WorkerUp } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { PoolWorker } from './worker.js'

export interface WorkerSettings {
  maxMessageSize: number
  lostWorkerTimeout: number
  aliveTimeout: number
  /** What becomes of a line of stdout or stderr that came through a pipe. */
  forwardStderr: boolean
  captureOutput: boolean
}

/** What the pool is told of a worker. Every method is called after the worker's own books are right. */
export interface WorkerOwner {
  onUp(worker: PoolWorker, up: WorkerUp): void
  onAccepted(worker: PoolWorker, job: JobRecord): void
  onAnswered(worker: PoolWorker, job: JobRecord, flags: number, payload: Buffer): void
  onItem(worker: PoolWorker, job: JobRecord, payload: Buffer): void
  onProgress(worker: PoolWorker, job: JobRecord, payload: Buffer): void
  onLog(worker: PoolWorker, job: JobRecord | undefined, lines: LogLine[]): void
  onFault(worker: PoolWorker, fault: Fault, job: JobRecord | undefined): void
  onHeartbeat(worker: PoolWorker): void
  onRecalled(worker: PoolWorker, back: JobRecord[]): void
  onLimit(worker: PoolWorker, delivery: number, stage: LimitStage, stack: string): void
  /** One of its pipes is gone while its process seems to live: it gets no new job and will be killed. */
  onDamaged(worker: PoolWorker): void
  /** The process is gone; what it had written may still be on its way. */
  onExit(worker: PoolWorker): void
  /** Everything it had written is read: the books are final. */
  onDrained(worker: PoolWorker): void
}
