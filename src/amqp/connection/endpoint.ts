import type { TlsSettings } from '../../node/connection/tls-options.js'

/** How to reach the broker. Validated. */
export interface Endpoint {
  readonly url: string
  /** For `amqps:` only. Undefined: Node's defaults. */
  readonly tls?: TlsSettings | undefined
}

/** s. RabbitMQ suggests 60. A peer counts as dead after two to three missed heartbeats: here 30 to 45 s. The default of `publishTimeout` is longer. */
const HEARTBEAT = '15'

/** The URL with our heartbeat interval, unless it names its own. */
export const withHeartbeat = (url: string): string => {
  try {
    const parsed = new URL(url)
    if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', HEARTBEAT)
    return parsed.href
  } catch {
    // `connect` refuses the URL with an explanation.
    return url
  }
}

/** User and password of a URL. Undefined: it has none, or is no URL. amqplib itself would take each percent-encoded byte for a character. */
export const loginOf = (url: string): { readonly user: string; readonly password: string } | undefined => {
  try {
    const { username, password } = new URL(url)
    return username === '' && password === '' ? undefined : { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    // It is no URL: `connect` refuses it with an explanation. Or it has a stray '%', which amqplib takes as it is.
    return undefined
  }
}
