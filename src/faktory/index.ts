/** `prefork/faktory`: nodes on a Faktory server. Needs no package. */

export type { ControlClient } from '../node/broker.js'
export type { TlsOptions } from '../node/connection/tls-options.js'
export type { FarmNode, NodeOptions, ShutdownReport } from '../node/index.js'
export type { Address, Answer, Command } from '../runtime/report/commands.js'
export type { FarmEvent } from '../runtime/report/report.js'
export { type ControlOptions, createControlClient } from './control/control-path.js'
export { createWorker, type WorkerOptions } from './create-worker.js'
export { BrokerError, ConnectionLostError, FaktoryError } from './errors.js'
export type { ConnectionOptions } from './options.js'
export type { FaktoryDeliveryFields } from './worker/delivery.js'
export type { JobFailure } from './worker/job.js'
export type { QueueList } from './worker/queue-order.js'
