/** Which failures pass by themselves, and what a person can do about the others. */
import { withoutPassword } from '../../util/redact.js'
import { BrokerError } from '../errors.js'

/** Node's error for a host of several addresses has no message of its own; OpenSSL's has places in its source around its reason. */
const text = (error: unknown): string => {
  const { code, reason } = (error ?? {}) as { code?: unknown; reason?: unknown }
  if (typeof reason === 'string' && String(code).startsWith('ERR_SSL_')) return reason
  return error instanceof Error ? error.message || String((error as { code?: unknown }).code ?? error.name) : String(error)
}

/** OpenSSL's and Node's names for what is wrong with the certificate of the other end. */
const UNTRUSTED = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
/** What the other end says of ours; newer OpenSSL writes SSL/TLS where older ones wrote SSLV3. */
const UNWELCOME = /^ERR_SSL_.+_ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_\w+|HANDSHAKE_FAILURE)$/

/** An error of connecting that will not pass, in words that say what to do; undefined for one that may. */
export const lastingRefusal = (url: string, error: unknown): BrokerError | undefined => {
  const message = text(error)
  if (/ACCESS[-_]REFUSED/.test(message))
    return new BrokerError(
      `RabbitMQ at ${withoutPassword(url)} refused the login: check user and password, and that this user may log in from this machine ('guest' only from localhost).`,
      { cause: error },
    )
  // amqplib does not say why; the virtual host is what is refused at this point.
  if (/NOT[-_]ALLOWED|Expected ConnectionOpenOk; got <ConnectionClose/.test(message))
    return new BrokerError(
      `RabbitMQ at ${withoutPassword(url)} refused the virtual host: check that it exists, that the user may use it (rabbitmqctl add_vhost, set_permissions) and that its limit of connections is not reached.`,
      { cause: error },
    )
  const code = String((error as { code?: unknown } | null | undefined)?.code)
  if (UNTRUSTED.has(code))
    return new BrokerError(
      `RabbitMQ at ${withoutPassword(url)} shows a certificate that is not trusted: ${message}. Name the authority that it comes from (the option tls.ca, or RABBITMQ_TLS_CA), or the name that it has (the option tls.servername, or RABBITMQ_TLS_SERVERNAME).`,
      { cause: error },
    )
  if (UNWELCOME.test(code))
    return new BrokerError(
      `RabbitMQ at ${withoutPassword(url)} refused the certificate of this client, or wants one: ${message}. Give it one that it trusts (the options tls.cert and tls.key, or RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY).`,
      { cause: error },
    )
  if (/Expected amqp: or amqps:|Invalid URL/.test(message))
    return new BrokerError(`'${withoutPassword(url)}' is not the URL of a RabbitMQ: it begins with amqp:// or amqps://.`, { cause: error })
  return undefined
}

/** The broker's code, when it was the broker that closed a channel or connection, and said why. */
export const codeOfClosure = (reason: Error): number | undefined => {
  const { code } = reason as { code?: unknown }
  return typeof code === 'number' ? code : undefined
}

/** The broker was not there in time. `last`: what the last attempt met. */
export const unreached = (url: string, timeout: number, last: Error | undefined): BrokerError =>
  new BrokerError(
    `RabbitMQ at ${withoutPassword(url)} could not be reached within ${timeout} ms: ${last === undefined ? 'it does not answer' : text(last)}. Is it running there? The option 'url' says where to look, 'connectTimeout' how long.`,
    last === undefined ? undefined : { cause: last },
  )
