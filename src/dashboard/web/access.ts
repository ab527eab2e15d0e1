import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'

/** Why a request is refused: an HTTP status, and a sentence for people. */
export type Refusal = readonly [status: number, reason: string]

/** Characters of a token that is given. */
export const MIN_TOKEN = 16

/** 192 random bits. */
export const newToken = (): string => randomBytes(24).toString('base64url')

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Name and port of a Host header. An IPv6 address is in brackets. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/i

/** Whom the pages and the data of the dashboard are for. */
export class Access {
  readonly #digest: Buffer
  readonly #hosts: ReadonlySet<string>

  /** `host`: the name or address that the server listens on. */
  constructor({ token, host }: { token: string; host: string }) {
    this.#digest = digest(token)
    this.#hosts = new Set(['localhost', hostname().toLowerCase(), host.toLowerCase()])
  }

  /** For every request. Undefined: it may pass. A page of another site must neither read nor embed anything. */
  refuse({ headers }: IncomingMessage): Refusal | undefined {
    const host = HOST.exec(headers.host ?? '')?.[1]?.toLowerCase()
    // A site whose name was made to lead here (DNS rebinding) sends its own name. An address cannot be made to lead elsewhere.
    if (host === undefined || !(this.#hosts.has(host) || host.endsWith('.localhost') || isIP(host.replace(/^\[|\]$/g, '')) !== 0)) {
      return [421, 'This host name is not served. Use an address, localhost, the name of the machine, or name it with --http-host.']
    }
    const { origin } = headers
    if (origin !== undefined && originHost(origin) !== headers.host!.toLowerCase()) return [403, 'A page of another origin may not ask.']
    const site = headers['sec-fetch-site']
    // A link elsewhere may lead here, as a new page; nothing else may come from elsewhere.
    const isVisit = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
    if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isVisit) return [403, 'A page of another site may not ask.']
    return undefined
  }

  /** For what reads or changes the farm, besides `refuse`. */
  refuseUnknown({ headers }: IncomingMessage): Refusal | undefined {
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
    if (given === undefined) return [401, 'The token is missing.']
    // Digests have one length, which the comparison needs.
    if (!timingSafeEqual(digest(given), this.#digest)) return [401, 'The token is not the one of this server.']
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin') return [403, 'Only the page of the dashboard may ask.']
    return undefined
  }
}

/** Host and port, as a Host header has them. */
const originHost = (origin: string): string | undefined => {
  try {
    return new URL(origin).host.toLowerCase()
  } catch {
    return undefined
  }
}
