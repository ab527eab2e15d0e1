import { PreforkError } from '../../wire/errors.js'

/** A message that this node cannot decode. The job is dead-lettered with the reason. */
export class UndecodableError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_UNDECODABLE', message, options)
  }
}

// Set here, not in the class: a bundler renames a class that refers to itself, and stacks would show that name.
UndecodableError.prototype.name = 'UndecodableError'
