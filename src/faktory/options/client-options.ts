/** The options of every client of a Faktory server: workers, publishers and operators. */
import { readTls, type TlsOptions } from '../../node/connection/tls-options.js'
import { type Check, milliseconds, OptionError, refusal } from '../../util/checks.js'
import { namesOf, type OptionTable, type OptionValues, option, readKnown } from '../../util/option-table.js'
import type { Endpoint } from '../connection/open-socket.js'
import { addressOf, faktoryUrl } from '../protocol/address.js'
import { PasswordHashes } from '../protocol/password-hash.js'

export interface ConnectionOptions {
  /** The server: `tcp://:password@host:7419`, or `tcp+tls://`. Default FAKTORY_URL, or the variable that FAKTORY_PROVIDER names, or tcp://localhost:7419. */
  url?: string
  /** How a `tcp+tls` connection is made, client certificates included. Default as Node.js does it. */
  tls?: TlsOptions
}

export interface FirstConnectionOptions {
  /** ms for the first connection: a server that cannot be reached by then is an error. Default 30,000. */
  connectTimeout?: number
}

export const CONNECTION_OPTIONS = {
  url: option('URL', faktoryUrl, undefined, "the server's address; `tcp+tls://` for TLS", '`FAKTORY_URL`, or `tcp://localhost:7419`'),
  tls: option('object', readTls, undefined, 'for `tcp+tls`: certificate authorities and a client certificate', 'as Node.js does it'),
} satisfies OptionTable<ConnectionOptions>

export const FIRST_CONNECTION_OPTIONS = {
  connectTimeout: option('ms', milliseconds, 30_000, 'for the first connection; reconnecting has no limit'),
} satisfies OptionTable<FirstConnectionOptions>

export const CONNECTION_NAMES = namesOf(CONNECTION_OPTIONS)

/** How to reach the server, with the hashes of the password. */
export interface ServerEndpoint extends Endpoint {
  readonly hashes: PasswordHashes | undefined
}

/** Throws OptionError: the URL of the environment cannot be used, or certificates are given for a connection that is not encrypted. */
export const endpointOf = ({ url, tls }: OptionValues<typeof CONNECTION_OPTIONS>): ServerEndpoint => {
  const address = addressOf(url)
  if (tls !== undefined && !address.tls) throw new OptionError('tls', "is for an encrypted connection: let 'url' begin with tcp+tls://")
  return { address, tls, hashes: address.password === undefined ? undefined : new PasswordHashes(address.password) }
}

export const readEndpoint = (given: Readonly<Record<string, unknown>>): ServerEndpoint => endpointOf(readKnown(CONNECTION_OPTIONS, given))

export const DEFAULT_QUEUE = 'default'

/** The server refuses any other name at PUSH, and waits for a job that never comes at FETCH. */
export const readQueueName: Check<string> = (name, value) => {
  if (typeof value !== 'string' || !/^[a-zA-Z0-9._-]+$/.test(value)) throw refusal(name, "the name of a queue, of letters, digits and '.', '_' or '-'", value)
  return value
}
