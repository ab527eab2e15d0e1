/**
 * `prefork/queue`: a durable queue of jobs, and nodes that run them, with no server.
 *
 * `createQueue` adds jobs, and `createWorker` runs them: in this process, in another one, or in several. The store is not among the
 * exports: nobody else is to write into its file.
 */

export type { ControlClient } from '../node/broker.js'
export { ControlError } from '../node/control/socket-connection.js'
export type { FarmNode, NodeOptions, ShutdownOptions, ShutdownReport } from '../node/index.js'
export type { Backoff, Counts, DeadReason, HistoryEntry, SerializedError } from '../runtime/delivery.js'
export { RemoteError } from '../runtime/errors.js'
export type { Address, Answer, Command } from '../runtime/report/commands.js'
export type { FarmEvent } from '../runtime/report/report.js'
export type { HookInfo, NodeHook } from './broker/hooks.js'
export { JobRemovedError, QueueActiveError, QueueClosedError, ResultTimeoutError } from './errors.js'
export { type ControlClientOptions, createControlClient } from './face/create-control-client.js'
export { createQueue, type QueueOptions } from './face/create-queue.js'
export { createWorker, type RunWorkerOptions, runWorker, type WorkerOptions } from './face/create-worker.js'
export type { JobQuery } from './face/job-query.js'
export type { BulkJob, Flow, Queue, QueueScheduleOptions } from './face/queue.js'
export type { QueueEventName, QueueEvents } from './face/queue-events.js'
export type { JobDetails, QueueJob } from './face/queue-job.js'
export type { ResultOptions } from './face/result-waiters.js'
export type { QueueSchedule, ScheduleOptions } from './face/schedules.js'
export type { AddOptions, JobDefaults } from './jobs/add-options.js'
export type { EndState } from './store/ended-jobs.js'
export { StoreError, type StoreErrorCode } from './store/errors.js'
export type { JobState, Retention, StoredJob } from './store/store.js'
