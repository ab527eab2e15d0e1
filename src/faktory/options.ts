/** The options of every client of a Faktory server: nodes and publishers. */
import { readTls, type TlsOptions } from '../node/connection/tls-options.js'
import { OptionError } from '../util/checks.js'
import { type OptionTable, option } from '../util/option-table.js'
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

export const CONNECTION_OPTIONS = {
  url: option('URL', faktoryUrl, undefined, "Faktory's address, `tcp://:password@host:7419`; `tcp+tls://` for TLS", '`FAKTORY_URL`'),
  tls: option('object', readTls, undefined, 'for `tcp+tls`: certificate authorities and a client certificate', 'as Node.js does it'),
} satisfies OptionTable<ConnectionOptions>

/**
 * The server that options and environment name, and the hashes of its password.
 *
 * @throws {OptionError} the URL or a variable cannot be used, or `tls` is given for a plain connection
 */
export const endpointOf = ({ url, tls }: { url: string | undefined; tls: Endpoint['tls'] }): Endpoint & { readonly hashes: PasswordHashes | undefined } => {
  const address = addressOf(url)
  if (tls !== undefined && !address.tls) throw new OptionError('tls', "is for an encrypted connection: let 'url' or FAKTORY_URL begin with tcp+tls://")
  return { address, tls, hashes: address.password === undefined ? undefined : new PasswordHashes(address.password) }
}
