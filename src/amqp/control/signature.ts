/**
 * Signs commands with a shared secret: HMAC-SHA-256 (RFC 2104) over the time, a nonce and the body.
 * A node refuses a command that is stale, was seen before, or was signed before this process started.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'

/** ms that a command may be old. The clocks of nodes and operators may differ by as much. */
export const MAX_AGE = 60_000

const hash = (secret: string, body: Buffer, at: number, nonce: string): Buffer => createHmac('sha256', secret).update(`${at}\n${nonce}\n`).update(body).digest()

const isSignature = (hex: string, wanted: Buffer): boolean => {
  const given = Buffer.from(hex, 'hex')
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** The headers that sign a command, or the answer to the request with the correlation id `nonce`. Empty without a secret. */
export const sign = (secret: string | undefined, body: Buffer, nonce: string = randomUUID()): Record<string, unknown> => {
  if (secret === undefined) return {}
  const at = Date.now()
  return { signed_at: at, signed_once: nonce, signature: hash(secret, body, at, nonce).toString('hex') }
}

/** Checks signatures, and remembers their nonces until they are too old. */
export class SignatureCheck {
  readonly #secret: string | undefined
  /** ms since the epoch. Of commands before it the nonces are not known: an earlier process may have executed them. */
  readonly #since = Date.now()
  /** Nonce → ms since the epoch of its command. */
  readonly #seen = new Map<string, number>()

  constructor(secret: string | undefined) {
    this.#secret = secret
  }

  /** Whether this is an answer to the request with this id from one who has the secret. The id makes it a fresh one, whatever the clocks say. */
  isAnswer(requestId: string, headers: Readonly<Record<string, unknown>>, body: Buffer): boolean {
    if (this.#secret === undefined) return true
    const { signed_at: at, signature } = headers
    return typeof at === 'number' && typeof signature === 'string' && isSignature(signature, hash(this.#secret, body, at, requestId))
  }

  /** The reason to refuse a command; undefined: it is accepted. */
  refusal(headers: Readonly<Record<string, unknown>>, body: Buffer): string | undefined {
    if (this.#secret === undefined) return undefined
    const { signed_at: at, signed_once: nonce, signature } = headers
    if (typeof at !== 'number' || typeof nonce !== 'string' || typeof signature !== 'string')
      return 'this node wants commands that are signed with the shared secret'
    if (!isSignature(signature, hash(this.#secret, body, at, nonce))) return 'the secret is wrong'
    // Nonces are remembered only with a valid signature: without the secret, a sender cannot fill the memory.
    const now = Date.now()
    if (Math.abs(now - at) > MAX_AGE)
      return `the command was signed ${Math.round((now - at) / 1_000)} s ago by the clock of this node: it is stale, or a clock is wrong`
    if (at < this.#since) return 'the command was signed before this node started: send it again, unless a clock is wrong'
    for (const [each, time] of this.#seen) {
      if (now - time <= 2 * MAX_AGE) break
      this.#seen.delete(each)
    }
    if (this.#seen.has(nonce)) return 'the command was seen before'
    this.#seen.set(nonce, now)
    return undefined
  }
}
