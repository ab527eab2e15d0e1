/** `prefork/runtime`: runs delivered jobs on a pool, for brokers other than AMQP. */

export type { Backoff, Counts, DeadReason, Delivery, HistoryEntry, JobHeaders, RunRecord, SerializedError, Settlement, SettleResult } from './delivery.js'
export { UndecodableError } from './errors.js'
export { decodeJob, type EncodedJob, encodeJob, type JobMessage } from './message/job.js'
export { decodeReply, encodeReply, type Reply } from './message/reply.js'
export type { RuntimeOptions, RuntimePool } from './options.js'
export { pathTaskModule } from './path-tasks/task-paths.js'
export {
  type Address,
  type Answer,
  COMMAND_NAMES,
  type Command,
  type CommandName,
  type RevocationsMessage,
  readCommand,
  type SpentMessage,
} from './report/commands.js'
export type { FarmEvent, FarmEventBody, NodeSnapshot, NodeStats, NodeWorker, TaskLogLine, TaskRecord, TaskStatus } from './report/report.js'
export { type Revocation, Runtime } from './runtime.js'
