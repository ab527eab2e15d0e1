import { parseArgs } from 'node:util'
import { UsageError } from '../lib/args.js'

/** @import { Size } from './types.js' */

const ROUNDS = /** @type {Readonly<Record<Size, number>>} */ ({ smoke: 1, short: 3, full: 7 })
export const JOBS = /** @type {Readonly<Record<Size, number>>} */ ({ smoke: 3_000, short: 40_000, full: 80_000 })
/** As many as a node fetches over by default. */
const CONNECTIONS = 10

export const USAGE = `npm run bench:faktory -- [options]

The server is that of FAKTORY_URL (without a password): then the goals are judged. Otherwise it is the stand-in of the tests, and they are not.

  --full              ${ROUNDS.full} rounds of ${JOBS.full} jobs. Without it: ${ROUNDS.short} rounds of ${JOBS.short}, some minutes
  --smoke             one tiny round without the peer: shows in a few seconds that all variants run
  --connections <n>   that fetch; default ${CONNECTIONS}
  --rounds <n>        rounds of all variants in turn
  --no-peer           without faktory-worker
  --json              results as JSON on the standard output, instead of tables
  --help              this text`

/**
 * @typedef {object} FaktoryWanted
 * @property {Size} size
 * @property {number} rounds
 * @property {number} connections
 * @property {boolean} peer
 * @property {boolean} json
 * @property {boolean} help
 */

/** @param {readonly string[]} args */
const parsed = (args) => {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        full: { type: 'boolean' },
        smoke: { type: 'boolean' },
        connections: { type: 'string' },
        rounds: { type: 'string' },
        peer: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

/** @param {string} flag @param {string | undefined} given @param {number} otherwise */
const countOf = (flag, given, otherwise) => {
  const count = given === undefined ? otherwise : Number(given)
  if (!Number.isInteger(count) || count < 1) throw new UsageError(`${flag}: a whole number from 1 on is wanted, not '${given}'`)
  return count
}

/** @param {readonly string[]} args @returns {FaktoryWanted} */
export const readFaktoryArgs = (args) => {
  const { full, smoke, connections, rounds, peer, json = false, help = false } = parsed(args)
  if (full && smoke) throw new UsageError('--full and --smoke were both given')
  const size = full ? 'full' : smoke ? 'smoke' : 'short'
  return {
    size,
    rounds: countOf('--rounds', rounds, ROUNDS[size]),
    connections: countOf('--connections', connections, CONNECTIONS),
    peer: peer ?? !smoke,
    json,
    help,
  }
}
