import { createHash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BoundedMap } from '../../runtime/collections/bounded-map.js'
import { ConnectionLostError } from '../errors.js'

/** ms of hashing in one turn of the event loop. The 8,000 rounds of a server take some 20 ms: three turns, of a host that may be slow, fit into the 2 s for HELLO. */
const TURN = 10
/** Rounds between two looks at the clock. */
const ROUNDS = 100
/** A server asks for 4,000 to 8,095 rounds. More than this is no Faktory, and must not keep the host busy. */
const MAX_ROUNDS = 1_000_000
/** Salts whose hash is kept. Each connection gets a salt of its own from Faktory 1.10. */
const KEPT = 16

/** The hashes of one password that a login needs: what a server asks for in its greeting, as lower-case hex. */
export class PasswordHashes {
  readonly #password: string
  readonly #hashes = new BoundedMap<Promise<string>>(KEPT)

  constructor(password: string) {
    this.#password = password
  }

  /**
   * SHA-256 over password and salt, then over the 32 raw bytes of the last round, `rounds` times in all. Hashes in short pieces, between which the
   * event loop turns. The hash for one salt is computed once.
   *
   * Rejects with ConnectionLostError for a number of rounds that no server asks for.
   */
  of(salt: string, rounds: number): Promise<string> {
    const key = `${rounds}.${salt}`
    const known = this.#hashes.get(key)
    if (known !== undefined) return known
    const hash = this.#hash(salt, rounds)
    this.#hashes.set(key, hash)
    return hash
  }

  async #hash(salt: string, rounds: number): Promise<string> {
    if (rounds > MAX_ROUNDS) throw new ConnectionLostError(`The server asks for ${rounds} rounds of hashing; at most ${MAX_ROUNDS} are done.`, false)
    let bytes = createHash('sha256').update(`${this.#password}${salt}`, 'utf8').digest()
    let turnEnds = performance.now() + TURN
    for (let round = 1; round < rounds; round++) {
      bytes = createHash('sha256').update(bytes).digest()
      if (round % ROUNDS !== 0 || performance.now() < turnEnds) continue
      await nextTurn()
      turnEnds = performance.now() + TURN
    }
    return bytes.toString('hex')
  }
}
