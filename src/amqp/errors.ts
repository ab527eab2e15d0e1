import { BrokerError, PublishError } from '../node/connection/errors.js'

export { RemoteError } from '../runtime/errors.js'
export { BrokerError, PublishError }

/** How a message names options. The command line puts its flags and variables in their place. */
export interface OptionTerms {
  /** The options of a queue's declaration. */
  readonly declaration: string
  /** The option to use a queue as it is; undefined: there is none. */
  readonly noDeclare: string | undefined
  readonly ca: string
  readonly servername: string
  readonly clientCertificate: string
}

const TERMS: OptionTerms = {
  declaration: 'queueType and priorityLevels',
  noDeclare: 'declare: false',
  ca: 'the option tls.ca, or RABBITMQ_TLS_CA',
  servername: 'the option tls.servername, or RABBITMQ_TLS_SERVERNAME',
  clientCertificate: 'the options tls.cert and tls.key, or RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY',
}

/** A BrokerError whose message names options. Its hidden `messageIn` gives the message in other terms. */
export const brokerErrorIn = (messageIn: (terms: OptionTerms) => string, cause: unknown): BrokerError =>
  Object.defineProperty(new BrokerError(messageIn(TERMS), { cause }), 'messageIn', { value: messageIn })

/** A message was routed to no queue: there is none of that name. */
export class UnroutableError extends PublishError {
  readonly queue: string
  constructor(queue: string) {
    super(`There is no queue '${queue}' that would take the message.`, 'no')
    this.queue = queue
  }
}

// Set here, not in the classes: a bundler renames a class that refers to its own name, and stacks would show that name.
UnroutableError.prototype.name = 'UnroutableError'
