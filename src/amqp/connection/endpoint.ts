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

/** s: the broker offers 60; two missed in a row are a dead peer, and half a minute is soon enough to know. */
const HEARTBEAT = '15'

/** The URL may name another. */
export const withHeartbeat = (url: string): string => {
  try {
    const parsed = new URL(url)
    if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', HEARTBEAT)
    return parsed.href
  } catch {
    // Refused, with what to do, when it connects.
    return url
  }
}
