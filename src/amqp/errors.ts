import { PreforkError } from '../wire/errors.js'

/** The broker cannot be reached, or cannot be used, for a reason that does not pass by itself. */
export class BrokerError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_BROKER', message, options)
  }
}

/** A message could not be handed to the broker. `stored`: whether it may be in a queue all the same. */
export class PublishError extends PreforkError {
  readonly stored: 'no' | 'unknown'
  constructor(message: string, stored: 'no' | 'unknown', options?: ErrorOptions) {
    super('ERR_PREFORK_PUBLISH', message, options)
    this.stored = stored
  }
}

/** No queue took a message: there is none of that name. */
export class UnroutableError extends PublishError {
  readonly queue: string
  constructor(queue: string) {
    super(`There is no queue '${queue}' that would take the message.`, 'no')
    this.queue = queue
  }
}

/** What a task threw on its node: its name, message, code and stack as they were there. */
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

// Set here, not in the classes: a bundler gives a class that names itself another name, which stacks would show.
BrokerError.prototype.name = 'BrokerError'
PublishError.prototype.name = 'PublishError'
UnroutableError.prototype.name = 'UnroutableError'
