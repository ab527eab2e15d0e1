import { PreforkError } from '../wire/errors.js'

export { BrokerError, PublishError, PublishManyError } from '../node/connection/errors.js'

/** The server answered a command with an error, `-CODE text`. The command had no effect, unless the text says otherwise. */
export class FaktoryError extends PreforkError {
  /** The word before the text: 'ERR', or 'NOTUNIQUE' of Faktory Enterprise. */
  readonly serverCode: string
  /** What the server said, without the code. */
  readonly serverMessage: string
  constructor(serverCode: string, serverMessage: string, verb: string) {
    super('ERR_PREFORK_FAKTORY', `Faktory refused ${verb}: ${serverMessage}`)
    this.serverCode = serverCode
    this.serverMessage = serverMessage
  }
}

/** The connection was lost, or could not be made in time. */
export class ConnectionLostError extends PreforkError {
  /** True: the command may have reached the server. False: it was not sent. */
  readonly sent: boolean
  constructor(message: string, sent: boolean, options?: ErrorOptions) {
    super('ERR_PREFORK_CONNECTION_LOST', message, options)
    this.sent = sent
  }
}

const classes = { FaktoryError, ConnectionLostError }
// Set here, not in the classes: a bundler renames a class that refers to itself, and stacks would show that name.
for (const [name, { prototype }] of Object.entries(classes)) prototype.name = name
