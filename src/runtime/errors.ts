/** Errors of jobs that something other than their task ended. Replies and dead letters contain them. */
import { PreforkError } from '../wire/errors.js'

/** An operator has revoked the job. */
export class RevokedError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_REVOKED', 'The job was revoked.')
  }
}

/** The job expired before it began. */
export class ExpiredError extends PreforkError {
  /** `at`: ms since the epoch; undefined when it is not known. */
  constructor(at: number | undefined) {
    const date = at === undefined ? undefined : new Date(at)
    const when = date === undefined || Number.isNaN(date.getTime()) ? '' : ` at ${date.toISOString()},`
    super('ERR_PREFORK_EXPIRED', `It expired${when} before it began.`)
  }
}

/** The message was delivered too often without a run. */
export class RedeliveredError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_REDELIVERED', 'It was delivered too often without an end.')
  }
}

/** The job still ran when the node's grace period was over. */
export class NodeShutdownError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_NODE_SHUTDOWN', 'The node shut down before the job had ended.')
  }
}

/** The path of a task is malformed or leads out of the roots. */
export class PathRefusedError extends PreforkError {
  constructor(message: string) {
    super('ERR_PREFORK_PATH_REFUSED', message)
  }
}

/** The message cannot be decoded. The job is dead-lettered with the reason. */
export class UndecodableError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_UNDECODABLE', message, options)
  }
}

const classes = { RevokedError, ExpiredError, RedeliveredError, NodeShutdownError, PathRefusedError, UndecodableError }
// Set here, not in the classes: a bundler renames a class that refers to itself, and stacks would show that name.
for (const [name, { prototype }] of Object.entries(classes)) prototype.name = name
