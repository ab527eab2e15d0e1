/**
 * Commands under a shared secret: the secret itself never travels, only a keyed hash over the body, when it was made, and a
 * number used once. A command that was seen before, or is too old, is refused.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'

/** ms that a command may be under way; the clocks of nodes and operators may differ by as much. */
export const MAX_AGE = 60_000

const hash = (secret: string, body: Buffer, at: number, once: string): Buffer => createHmac('sha256', secret).update(`${at}\n${once}\n`).update(body).digest()

/** The headers that go with a command. Empty without a secret. */
export const sign = (secret: string | undefined, body: Buffer): Record<string, unknown> => {
  if (secret === undefined) return {}
  const at = Date.now()
  const once = randomUUID()
  return { signed_at: at, signed_once: once, signature: hash(secret, body, at, once).toString('hex') }
}

/** Checks seals; remembers those it has seen for as long as they are fresh. */
export class SignatureCheck {
  readonly #secret: string | undefined
  readonly #seen = new Map<string, number>()

  constructor(secret: string | undefined) {
    this.#secret = secret
  }

  /** Why a command is refused; undefined when it is not. */
  refusal(headers: Readonly<Record<string, unknown>>, body: Buffer): string | undefined {
    if (this.#secret === undefined) return undefined
    const { signed_at: at, signed_once: once, signature } = headers
    if (typeof at !== 'number' || typeof once !== 'string' || typeof signature !== 'string')
      return 'this node wants commands that are signed with the shared secret'
    const given = Buffer.from(signature, 'hex')
    const wanted = hash(this.#secret, body, at, once)
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return 'the secret is wrong'
    // Only what carries the right signature is looked at further, so that nobody else can fill the memory.
    const now = Date.now()
    if (Math.abs(now - at) > MAX_AGE)
      return `the command was signed ${Math.round((now - at) / 1_000)} s ago by the clock of this node: it is stale, or a clock is wrong`
    for (const [each, time] of this.#seen) {
      if (now - time <= 2 * MAX_AGE) break
      this.#seen.delete(each)
    }
    if (this.#seen.has(once)) return 'the command was seen before'
    this.#seen.set(once, now)
    return undefined
  }
}
