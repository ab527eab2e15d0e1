/** How a job ends that its task did not end, as its caller and its dead letter are told. */
import { PreforkError } from '../wire/errors.js'

/** An operator did not want it. */
export class RevokedError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_REVOKED', 'The job was revoked.')
  }
}

/** Its time was over before it began. */
export class ExpiredError extends PreforkError {
  /** `at`: ms since the epoch; undefined where nobody said. */
  constructor(at: number | undefined) {
    const date = at === undefined ? undefined : new Date(at)
    const when = date === undefined || Number.isNaN(date.getTime()) ? '' : ` at ${date.toISOString()},`
    super('ERR_PREFORK_EXPIRED', `It expired${when} before it began.`)
  }
}

/** It came back untried, again and again. */
export class RedeliveredError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_REDELIVERED', 'It was delivered too often without an end.')
  }
}

/** It ran when the node's grace was over. */
export class NodeShutdownError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_NODE_SHUTDOWN', 'The node shut down before the job had ended.')
  }
}

/** A task named by its path leaves the roots, or is no path at all. */
export class PathRefusedError extends PreforkError {
  constructor(message: string) {
    super('ERR_PREFORK_PATH_REFUSED', message)
  }
}

// Set here, not in the classes: a bundler gives a class that names itself another name, which stacks would show.
RevokedError.prototype.name = 'RevokedError'
ExpiredError.prototype.name = 'ExpiredError'
RedeliveredError.prototype.name = 'RedeliveredError'
NodeShutdownError.prototype.name = 'NodeShutdownError'
PathRefusedError.prototype.name = 'PathRefusedError'
