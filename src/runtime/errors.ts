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

/** The job began too often on workers or nodes that died. */
export class LostTooOftenError extends PreforkError {
  constructor(losses: number) {
    super('ERR_PREFORK_LOST_TOO_OFTEN', `It began ${losses} times on a worker or a node that died, and is not begun again.`)
  }
}

/** The node no longer holds the job: another may run it. */
export class DeliveryGoneError extends PreforkError {
  constructor() {
    super('ERR_PREFORK_DELIVERY_GONE', 'The delivery of the job was lost, so that another node may run it: it was ended here.')
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

/** The task is a generator. The pool's own error names a method that whoever added the job does not have. */
export const generatorError = (task: string, cause: unknown): PreforkError =>
  new PreforkError(
    'ERR_PREFORK_STREAM',
    `The task '${task}' is a generator, and the task of a job cannot be one: let it return its values, or report them by currentJob().progress().`,
    { cause },
  )

/** The task has returned a function, which nobody takes: the job has done nothing yet. */
export const returnedFunctionError = (task: string): TypeError =>
  new TypeError(
    `The task '${task}' returned a function, which nobody calls: export the function that does the work. What it is told of its job is currentJob() of prefork/worker.`,
  )

/** Whether an error says that a task's value cannot be sent as it is a function. */
export const isReturnedFunction = (error: unknown): boolean => (error as { cause?: { message?: unknown } } | null)?.cause?.message === 'value is a function'

/** The message cannot be decoded. The job is dead-lettered with the reason. */
export class UndecodableError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_UNDECODABLE', message, options)
  }
}

/** The error that a task threw on its node, with the name, message, code and stack that it had there. */
export class RemoteError extends Error {
  /** The remote error's own code, if it had one. */
  readonly code: string | undefined
  constructor(error: { readonly name: string; readonly message: string; readonly stack: string | undefined; readonly code: string | undefined }) {
    super(error.message)
    this.name = error.name
    this.code = error.code
    if (error.stack !== undefined) this.stack = error.stack
  }
}

const classes = { RevokedError, ExpiredError, RedeliveredError, LostTooOftenError, DeliveryGoneError, NodeShutdownError, PathRefusedError, UndecodableError }
// Set here, not in the classes: a bundler renames a class that refers to itself, and stacks would show that name.
for (const [name, { prototype }] of Object.entries(classes)) prototype.name = name
