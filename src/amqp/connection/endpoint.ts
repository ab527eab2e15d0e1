import type { SecureContext } from 'node:tls'

/** How to reach the broker. Validated. */
export interface Endpoint {
  readonly url: string
  /** For `amqps:` only. Undefined: Node's defaults. */
  readonly tls?: TlsSettings | undefined
}

/** Options of Node's `tls.connect`. */
export interface TlsSettings {
  /** The certificate authorities, the client certificate and its key. */
  readonly secureContext: SecureContext
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

/** s. RabbitMQ suggests 60. A peer counts as dead after two missed heartbeats: here after 30 s. */
const HEARTBEAT = '15'

/** The URL with our heartbeat interval, unless it names its own. */
export const withHeartbeat = (url: string): string => {
  try {
    const parsed = new URL(url)
    if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', HEARTBEAT)
    return parsed.href
  } catch {
    // `connect` refuses it with an explanation.
    return url
  }
}
