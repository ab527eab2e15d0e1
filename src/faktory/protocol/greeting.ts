/** The server's first line, `+HI {"v":2}`, and the client's answer, HELLO. */
import { ConnectionLostError } from '../errors.js'
import type { PasswordHashes } from './password-hash.js'

/** The version of the protocol that is spoken here. */
export const PROTOCOL_VERSION = 2

export interface Greeting {
  readonly version: number
  /** Rounds and salt of the password's hash. Undefined: the server wants no password. */
  readonly login: { readonly rounds: number; readonly salt: string } | undefined
}

/** What a worker says of itself in HELLO, the same on every connection of its process. A producer has none. */
export interface WorkerIdentity {
  /** Unique for each process. */
  readonly wid: string
  readonly hostname: string
  readonly pid: number
  readonly labels: readonly string[]
}

const NO_FAKTORY = 'does not greet as Faktory does'

/**
 * Reads the first answer of a connection.
 *
 * @throws {ConnectionLostError} it is no greeting of Faktory
 */
export const readGreeting = (reply: string): Greeting => {
  const refused = (): ConnectionLostError => new ConnectionLostError(`The server ${NO_FAKTORY}: ${JSON.stringify(reply.slice(0, 100))}.`, false)
  if (!reply.startsWith('HI ')) throw refused()
  let given: unknown
  try {
    given = JSON.parse(reply.slice(3))
  } catch {
    throw refused()
  }
  const { v, i, s } = (given ?? {}) as { v?: unknown; i?: unknown; s?: unknown }
  if (typeof v !== 'number') throw refused()
  if (s === undefined || s === '') return { version: v, login: undefined }
  const rounds = i ?? 1
  if (typeof s !== 'string' || !Number.isInteger(rounds) || (rounds as number) < 1) throw refused()
  return { version: v, login: { rounds: rounds as number, salt: s } }
}

/** The argument of HELLO. `hashes`: of the password; undefined where there is none. */
export const helloOf = async (
  { login }: Greeting,
  { hashes, username, identity }: { hashes: PasswordHashes | undefined; username: string | undefined; identity: WorkerIdentity | undefined },
): Promise<string> => {
  const pwdhash = login === undefined || hashes === undefined ? undefined : await hashes.of(login.salt, login.rounds)
  return JSON.stringify({ v: PROTOCOL_VERSION, ...identity, username, pwdhash })
}
