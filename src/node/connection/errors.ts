/** Errors of connecting to a broker, and of publishing to it. */
import { refusal } from '../../util/checks.js'
import { PreforkError } from '../../wire/errors.js'

/** The broker cannot be reached or used, for a permanent reason: a refused login, a certificate that is not trusted, a closed client. */
export class BrokerError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_BROKER', message, options)
  }
}

/** A job was not confirmed by the broker. `stored`: whether it may be in a queue all the same. */
export class PublishError extends PreforkError {
  readonly stored: 'no' | 'unknown'
  constructor(message: string, stored: 'no' | 'unknown', options?: ErrorOptions) {
    super('ERR_PREFORK_PUBLISH', message, options)
    this.stored = stored
  }
}

/** A `publishMany` failed after some of its jobs were published. `stored`: that of the job which was not. */
export class PublishManyError extends PublishError {
  /** Ids of the published jobs, in the order of the source. */
  readonly published: readonly string[]
  constructor(cause: unknown, published: readonly string[]) {
    super(
      `${published.length === 1 ? '1 job was' : `${published.length} jobs were`} published before one was not: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause instanceof PublishError ? cause.stored : 'no',
      { cause },
    )
    this.published = published
  }
}

const manyOf = (name: string): string => `publisher.publishMany('${name}', [[argument, …], …])`

/** Refuses what cannot be the source of a `publishMany`. */
export const checkSource = (name: string, source: unknown): void => {
  const { [Symbol.asyncIterator]: async, [Symbol.iterator]: sync } = Object(source) as { [Symbol.asyncIterator]?: unknown; [Symbol.iterator]?: unknown }
  if (typeof source === 'string' || (typeof async !== 'function' && typeof sync !== 'function'))
    throw refusal('source', `an iterable of arrays of arguments, one for each job: ${manyOf(name)}`, source)
}

/** Refuses what a source yields as the arguments of its job number `index`, from 0. */
export const checkItem = (name: string, index: number, item: unknown): void => {
  if (!Array.isArray(item)) throw refusal(`source[${index}]`, `an array, the arguments of one job: ${manyOf(name)}`, item)
}

// Set here, not in the classes: a bundler renames a class that refers to its own name, and stacks would show that name.
BrokerError.prototype.name = 'BrokerError'
PublishError.prototype.name = 'PublishError'
PublishManyError.prototype.name = 'PublishManyError'

/** The AggregateError of a host with several addresses has no message; OpenSSL's messages contain places in its source code around the reason. */
export const reasonOf = (error: unknown): string => {
  const { code, reason } = (error ?? {}) as { code?: unknown; reason?: unknown }
  if (typeof reason === 'string' && String(code).startsWith('ERR_SSL_')) return reason
  return error instanceof Error ? error.message || String(code ?? error.name) : String(error)
}

/** Codes of OpenSSL and Node for a server certificate that is not accepted. */
const SERVER_CERTIFICATE_CODES: ReadonlySet<unknown> = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null | undefined)?.code

/** Whether the certificate of the server was not accepted. */
export const isUntrusted = (error: unknown): boolean => SERVER_CERTIFICATE_CODES.has(codeOf(error))

/** TLS alerts of a server that does not accept the client's certificate. Newer versions of OpenSSL write SSL/TLS where older ones wrote SSLV3. */
const CLIENT_CERTIFICATE_CODES = /^ERR_SSL_.+_ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_\w+|HANDSHAKE_FAILURE)$/

/** Whether the server did not accept the certificate of the client, or misses one. With TLS 1.3 it says so after the handshake. */
export const isClientRefused = (error: unknown): boolean => CLIENT_CERTIFICATE_CODES.test(String(codeOf(error)))
