import type { Fault, LimitStage, LogLine, WorkerUp } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'

/** The events of a worker. Each method is called after the worker's own state is up to date. */
export interface WorkerListener<W> {
  onUp(worker: W, up: WorkerUp): void
  onAccepted(worker: W, job: JobRecord): void
  onAnswered(worker: W, job: JobRecord, flags: number, payload: Buffer): void
  onItem(worker: W, job: JobRecord, payload: Buffer): void
  onProgress(worker: W, job: JobRecord, payload: Buffer): void
  onLog(worker: W, job: JobRecord | undefined, lines: LogLine[]): void
  onFault(worker: W, fault: Fault, job: JobRecord | undefined): void
  onHeartbeat(worker: W): void
  onRecalled(worker: W, back: JobRecord[]): void
  onLimit(worker: W, delivery: number, stage: LimitStage, stack: string): void
  /** One of its pipes is gone while its process seems to live: it gets no new job and will be killed. */
  onDamaged(worker: W): void
  /** The process is gone; what it had written may still be on its way. */
  onExit(worker: W): void
  /** Everything it had written is read: which jobs it had accepted is final. */
  onOutputRead(worker: W): void
}
