import { shortName } from '../util/nearest.js'
import { PreforkError } from '../wire/errors.js'

/** `job.result()` has waited for `timeout` ms. The job goes on. */
export class ResultTimeoutError extends PreforkError {
  constructor(id: string, timeout: number) {
    super('ERR_PREFORK_RESULT_TIMEOUT', `The job '${shortName(id)}' has not ended within ${timeout} ms. It goes on.`)
  }
}

/** The job is not in its queue any more: it was removed, or its retention is over. */
export class JobRemovedError extends PreforkError {
  constructor(id: string) {
    super('ERR_PREFORK_JOB_REMOVED', `The job '${shortName(id)}' is not in its queue any more: it was removed, or kept no longer ('keep').`)
  }
}

/** `obliterate()` of a queue with active jobs: nothing has changed. */
export class QueueActiveError extends PreforkError {
  constructor(queue: string, active: number) {
    super(
      'ERR_PREFORK_QUEUE_ACTIVE',
      `The queue '${shortName(queue)}' has ${active} active job${active === 1 ? '' : 's'}, and was left as it is: pause() it, wait until counts() has no active job or cancel() them, and obliterate it then.`,
    )
  }
}

/** The queue was closed. */
export class QueueClosedError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_QUEUE_CLOSED', 'The queue is closed: create it again.')
  }
}

const classes = { ResultTimeoutError, JobRemovedError, QueueActiveError, QueueClosedError }
// Set here, not in the classes: a bundler renames a class that refers to itself, and stacks would show that name.
for (const [name, { prototype }] of Object.entries(classes)) prototype.name = name
