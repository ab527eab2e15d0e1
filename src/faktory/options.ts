/** The options of every client of a Faktory server: nodes, publishers and operators. */
import { readTls, type TlsOptions } from '../node/connection/tls-options.js'
import type { NodeOptions } from '../node/types.js'
import { milliseconds, OptionError } from '../util/checks.js'
import { namesOf, type OptionTable, type OptionValues, option, readKnown } from '../util/option-table.js'
import type { Endpoint } from './connection/open-socket.js'
import { addressOf, faktoryUrl } from './protocol/address.js'
import { PasswordHashes } from './protocol/password-hash.js'

export interface ConnectionOptions {
  /**
   * The server's address, `tcp://:password@host:7419`; `tcp+tls://` for TLS. Default the variable that FAKTORY_PROVIDER names, or FAKTORY_URL, or
   * 'tcp://localhost:7419'.
   */
  url?: string
  /** How a `tcp+tls` connection is made. Default as Node.js does it. */
  tls?: TlsOptions
}

export interface FirstConnectionOptions {
  /** ms for the first connection: a server that cannot be reached by then is an error. Default 30,000. */
  connectTimeout?: number
}

export const CONNECTION_OPTIONS = {
  url: option('URL', faktoryUrl, undefined, "Faktory's address, `tcp://:password@host:7419`; `tcp+tls://` for TLS", '`FAKTORY_URL`'),
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

/**
 * The server that options and environment name, and the hashes of its password.
 *
 * @throws {OptionError} the URL or a variable cannot be used, or `tls` is given for a plain connection
 */
export const endpointOf = ({ url, tls }: OptionValues<typeof CONNECTION_OPTIONS>): ServerEndpoint => {
  const address = addressOf(url)
  if (tls !== undefined && !address.tls) throw new OptionError('tls', "is for an encrypted connection: let 'url' or FAKTORY_URL begin with tcp+tls://")
  return { address, tls, hashes: address.password === undefined ? undefined : new PasswordHashes(address.password) }
}

export const readEndpoint = (given: Readonly<Record<string, unknown>>): ServerEndpoint => endpointOf(readKnown(CONNECTION_OPTIONS, given))

const RETRIES = 'Faktory tries a job again by its own rules; its publisher says how often, with `retry`'
const UNKNOWN = 'a job of an unknown task fails, and Faktory tries it again'

/** Options of a node that it cannot keep under Faktory, each with the reason. */
export const UNSUPPORTED: Partial<Readonly<Record<keyof NodeOptions, string>>> = {
  maxAttempts: RETRIES,
  backoff: RETRIES,
  taskDefaults: `${RETRIES}; a rate is limited by the command rate_limit`,
  unknownTask: UNKNOWN,
  unknownTaskTimeout: UNKNOWN,
}
