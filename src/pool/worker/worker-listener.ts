import type { Fault, LimitStage, LogLine, WorkerUp } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { SentKind } from './message-decoder.js'

/** The events of a worker. Each method is called after the worker's own state is up to date. */
export interface WorkerListener<W> {
  onUp(worker: W, up: WorkerUp): void
  onAccepted(worker: W, job: JobRecord): void
  onAnswered(worker: W, job: JobRecord, flags: number, payload: Buffer, ended: number): void
  /** ITEM, PROGRESS or CALL. */
  onSent(worker: W, job: JobRecord, kind: SentKind, payload: Buffer): void
  onLog(worker: W, job: JobRecord | undefined, lines: LogLine[]): void
  onFault(worker: W, fault: Fault, job: JobRecord | undefined): void
  onHeartbeat(worker: W): void
  onRecalled(worker: W, back: JobRecord[]): void
  onLimit(worker: W, delivery: number, stage: LimitStage, stack: string): void
  /** A pipe of the worker is gone while its process seems to live. The worker gets no new job and will be killed. */
  onDamaged(worker: W): void
  /** The process is gone. Frames that it had written may still be in the pipes. */
  onExit(worker: W): void
  /** Everything that the process had written is read: no further acceptance can come. */
  onOutputRead(worker: W): void
}
