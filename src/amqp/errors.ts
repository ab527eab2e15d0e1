import { PreforkError } from '../wire/errors.js'

/** RabbitMQ cannot be reached or used, for a permanent reason. */
export class BrokerError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_BROKER', message, options)
  }
}

/** A message was not confirmed by RabbitMQ. `stored`: whether it may be in a queue all the same. */
export class PublishError extends PreforkError {
  readonly stored: 'no' | 'unknown'
  constructor(message: string, stored: 'no' | 'unknown', options?: ErrorOptions) {
    super('ERR_PREFORK_PUBLISH', message, options)
    this.stored = stored
  }
}

/** A message was routed to no queue: there is none of that name. */
export class UnroutableError extends PublishError {
  readonly queue: string
  constructor(queue: string) {
    super(`There is no queue '${queue}' that would take the message.`, 'no')
    this.queue = queue
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

// Set here, not in the classes: a bundler renames a class that refers to its own name, and stacks would show that name.
BrokerError.prototype.name = 'BrokerError'
PublishError.prototype.name = 'PublishError'
UnroutableError.prototype.name = 'UnroutableError'
