export { createPool } from './pool/create-pool.js'
export { clientSignal, type ResponseLike } from './pool/jobs/client-signal.js'
export type { RunName, StreamName, TaskArgs, TaskItem, TaskName, TaskResult } from './pool/jobs/task-types.js'
export type { Pool } from './pool/pool.js'
export type {
  BroadcastOptions,
  CancelOptions,
  CloseOptions,
  CurrentJobStats,
  Dispatch,
  Job,
  JobEvents,
  JobState,
  LatencyStats,
  MapOptions,
  PoolEvents,
  PoolLogger,
  PoolOptions,
  PoolStats,
  RunOptions,
  WorkerState,
  WorkerStats,
  WorkersRange,
  WritesStats,
} from './pool/types.js'
export type { CpuProfile, CpuProfileFrame, CpuProfileNode } from './wire/cpu-profile.js'
export {
  MemoryLimitError,
  PoolClosedError,
  PreforkError,
  ProtocolError,
  QueueFullError,
  SerializationError,
  SoftTimeLimitError,
  TaskNotFoundError,
  TimeLimitError,
  WorkerLostError,
  WorkerStartError,
} from './wire/errors.js'
export type { JobDelivery, LogLine } from './wire/messages.js'
export type { Calls } from './worker/current-job.js'
