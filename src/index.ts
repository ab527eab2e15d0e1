export { createPool } from './pool/create-pool.js'
export type { Pool } from './pool/pool.js'
export type {
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
  TaskArgs,
  TaskItem,
  TaskName,
  TaskResult,
  WorkerState,
  WorkerStats,
  WorkersRange,
  WritesStats,
} from './pool/types.js'
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
export type { LogLine } from './wire/messages.js'
