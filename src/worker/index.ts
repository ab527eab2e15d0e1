/** `prefork/worker`: what a task module may use. It also loads outside a worker, so that tasks can be unit-tested. */
export type { Backoff } from '../util/backoff.js'
export { NonRetryableError, RetryAfterError } from '../wire/errors.js'
export type { JobDelivery } from '../wire/messages.js'
export { type CallArgs, type CallName, type CallResult, type Calls, type CurrentJob, currentJob, type JobLogger } from './current-job.js'
export { defineTask, type TaskOptions } from './tasks/define-task.js'
export { type JobEndInfo, type JobHookInfo, onJobEnd, onJobStart, onWorkerStart, onWorkerStop } from './tasks/hooks.js'
