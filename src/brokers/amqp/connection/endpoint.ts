import type { SecureContext } from 'node:tls'

/** Where the broker is, and what it takes to get there. Validated. */
export interface Endpoint {
  readonly url: string
  /** Of `amqps:` alone; undefined: as Node does it by itself. */
  readonly tls?: TlsSettings | undefined
}

/** What Node's `tls.connect` is told. */
export interface TlsSettings {
  /** Holds the authorities, the certificate and the key. */
  readonly secureContext: SecureContext
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}
