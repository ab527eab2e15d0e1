import { parseArgs } from 'node:util'
import { UsageError } from '../lib/args.js'

/** @import { Size } from './types.js' */

const ROUNDS = /** @type {Readonly<Record<Size, number>>} */ ({ smoke: 1, short: 1, full: 5 })

export const USAGE = `npm run bench:queue -- [options]

  --full             ${ROUNDS.full} rounds of all in turn, a backlog of 1,000,000, 30 s of idling; half an hour. Without it: one round, five minutes
  --smoke            one tiny round, without peers and goals: shows in a few seconds that all cases run
  --folder <path>    a folder on the disk that is measured; default: node_modules/.cache/ of the project
  --only <a,b>       these cases
  --peers <a,b>      these peers, or 'none'
  --rounds <n>       rounds of all variants in turn
  --json             results as JSON on the standard output, instead of tables
  --help             this text`

/**
 * @typedef {object} QueueWanted
 * @property {Size} size
 * @property {number} rounds
 * @property {string[]} cases
 * @property {string[]} peers
 * @property {string} [folder]
 * @property {boolean} json
 * @property {boolean} help
 */

/** @param {string} flag @param {string} given @param {readonly string[]} known */
const listed = (flag, given, known) => {
  const names = given.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new UsageError(`${flag}: there is no '${unknown.join("', '")}'. There are: ${known.join(', ')}`)
  return names
}

/** @param {readonly string[]} args */
const parsed = (args) => {
  try {
    return parseArgs({
      args: [...args],
      options: {
        full: { type: 'boolean' },
        smoke: { type: 'boolean' },
        folder: { type: 'string' },
        only: { type: 'string' },
        peers: { type: 'string' },
        rounds: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

/** @param {readonly string[]} args @param {readonly string[]} cases @param {readonly string[]} peers @returns {QueueWanted} */
export const readQueueArgs = (args, cases, peers) => {
  const { full, smoke, folder, only, peers: given, rounds, json = false, help = false } = parsed(args)
  if (full && smoke) throw new UsageError('--full and --smoke were both given')
  const size = full ? 'full' : smoke ? 'smoke' : 'short'
  const count = rounds === undefined ? ROUNDS[size] : Number(rounds)
  if (!Number.isInteger(count) || count < 1) throw new UsageError(`--rounds: a whole number from 1 on is wanted, not '${rounds}'`)
  const named = given === undefined ? (smoke ? [] : [...peers]) : given === 'none' ? [] : listed('--peers', given, peers)
  return {
    size,
    rounds: count,
    cases: only === undefined ? [...cases] : listed('--only', only, cases),
    peers: named,
    ...(folder === undefined ? {} : { folder }),
    json,
    help,
  }
}
