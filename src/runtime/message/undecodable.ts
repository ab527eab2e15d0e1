import { PreforkError } from '../../wire/errors.js'

/** A message that this node cannot read, and never will: it goes to the dead letters with the reason. */
export class UndecodableError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_UNDECODABLE', message, options)
  }
}

// Set here, not in the class: a bundler gives a class that names itself another name, which stacks would show.
UndecodableError.prototype.name = 'UndecodableError'
