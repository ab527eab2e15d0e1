/** Errors of connecting: which errors are permanent, and what an operator can do about them. */
import { isClientRefused, isUntrusted, reasonOf } from '../../node/connection/errors.js'
import { withoutPassword } from '../../util/redact.js'
import { BrokerError, brokerErrorIn } from '../errors.js'

/** The error for a permanent failure, with advice for the operator. Undefined: the failure may be temporary. */
export const permanentError = (url: string, error: unknown): BrokerError | undefined => {
  const message = reasonOf(error)
  if (/ACCESS[-_]REFUSED/.test(message))
    return new BrokerError(
      `RabbitMQ at ${withoutPassword(url)} refused the login: check user and password, and that this user may log in from this machine ('guest' only from localhost).`,
      { cause: error },
    )
  // amqplib hides the broker's reason. The step that fails here is the opening of the virtual host.
  if (/NOT[-_]ALLOWED|Expected ConnectionOpenOk; got <ConnectionClose/.test(message))
    return new BrokerError(
      `RabbitMQ at ${withoutPassword(url)} refused the virtual host: check that it exists, that the user may use it (rabbitmqctl add_vhost, set_permissions) and that its limit of connections is not reached.`,
      { cause: error },
    )
  if (isUntrusted(error))
    return brokerErrorIn(
      ({ ca, servername }) =>
        `RabbitMQ at ${withoutPassword(url)} shows a certificate that is not trusted: ${message}. Name the authority that it comes from (${ca}), or the name that it has (${servername}).`,
      error,
    )
  if (isClientRefused(error))
    return brokerErrorIn(
      ({ clientCertificate }) =>
        `RabbitMQ at ${withoutPassword(url)} refused the certificate of this client, or wants one: ${message}. Give it one that it trusts (${clientCertificate}).`,
      error,
    )
  if (/Expected amqp: or amqps:|Invalid URL/.test(message))
    return new BrokerError(`'${withoutPassword(url)}' is not the URL of a RabbitMQ: it begins with amqp:// or amqps://.`, { cause: error })
  return undefined
}

/** The AMQP reply code when the broker closed the channel or connection; undefined for any other reason. */
export const closeCode = (reason: Error): number | undefined => {
  const { code } = reason as { code?: unknown }
  return typeof code === 'number' ? code : undefined
}

/** The first connection was not made in time. `last`: the error of the last attempt. */
export const connectTimeoutError = (url: string, timeout: number, last: Error | undefined): BrokerError =>
  new BrokerError(
    `RabbitMQ at ${withoutPassword(url)} could not be reached within ${timeout} ms: ${last === undefined ? 'it does not answer' : reasonOf(last)}. Is it running there? The option 'url' says where to look, 'connectTimeout' how long.`,
    last === undefined ? undefined : { cause: last },
  )
