/** `prefork/runtime`: the life of delivered jobs, for those who bring a broker of their own. */
export type { Address, Answer, Command, CommandName } from './commands.js'
export type { Backoff, Counts, DeadReason, Delivery, HistoryEntry, JobHeaders, SerializedError, Settlement, SettleResult } from './delivery.js'
export { decodeJob, decodeReply, type EncodedJob, encodeJob, encodeReply, type JobMessage, type Reply, UndecodableError } from './message/index.js'
export type { RuntimeOptions, RuntimePool } from './options.js'
export { COMMAND_NAMES, readCommand } from './read-command.js'
export type { FarmEvent, FarmEventBody, NodeSnapshot, NodeStats, NodeWorker, TaskLogLine, TaskRecord, TaskStatus } from './report.js'
export { type Revocation, Runtime } from './runtime.js'
export { pathTaskModule } from './task-paths.js'
