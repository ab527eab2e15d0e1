import { parseArgs } from 'node:util'

const ROUNDS = 3
const QUICK_ROUNDS = 1

export const USAGE = `npm run bench -- [options]

  --quick            one round, short measurements, the main variant of each case
  --all              with --quick: every figure of the page; those that take long, or change little, in one round
  --only <a,b>       these cases
  --peers <a,b>      these peers (prefork is always measured, and so are the floors unless --no-floors is given)
  --no-floors        without the floors in C and in Node
  --rounds <n>       rounds of all pools in turn; default ${ROUNDS}, with --quick ${QUICK_ROUNDS}
  --json             results as JSON on the standard output, instead of tables
  --write            writes docs/benchmarks.md, its charts and docs/benchmarks.json
  --from <file>      takes the results of a former run (docs/benchmarks.json) instead of measuring
  --help             this text`

/** A wrong command line: printed without a stack. */
export class UsageError extends Error {}

/**
 * @typedef {object} Wanted
 * @property {boolean} quick
 * @property {boolean} all every variant; with quick, every one that the page shows
 * @property {boolean} json
 * @property {boolean} write
 * @property {boolean} help
 * @property {string} [from] the results of an earlier run
 * @property {number} rounds
 * @property {string[]} cases
 * @property {string[]} pools
 */

/**
 * Splits a list of names and checks each against the known ones.
 * @param {string} flag
 * @param {string | undefined} given
 * @param {readonly string[]} known
 */
const listed = (flag, given, known) => {
  if (given === undefined) return undefined
  const names = given
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0 || names.length === 0) {
    throw new UsageError(`${flag}: ${names.length === 0 ? 'no name given' : `there is no ${unknown.join(', ')}`}. There are: ${known.join(', ')}`)
  }
  return names
}

/** @param {string | undefined} given @param {boolean} quick */
const roundsOf = (given, quick) => {
  if (given === undefined) return quick ? QUICK_ROUNDS : ROUNDS
  const rounds = Number(given)
  if (!Number.isInteger(rounds) || rounds < 1) throw new UsageError(`--rounds: a whole number from 1 on is wanted, not '${given}'`)
  return rounds
}

/**
 * @param {readonly string[]} args
 * @param {readonly string[]} caseNames
 * @param {Readonly<Record<string, { kind: string }>>} pools
 * @returns {Wanted}
 */
export const readArgs = (args, caseNames, pools) => {
  /** @type {{ quick?: boolean, all?: boolean, only?: string, peers?: string, 'no-floors'?: boolean, rounds?: string, json?: boolean, write?: boolean, from?: string, help?: boolean }} */
  let values
  try {
    ;({ values } = parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean' },
        all: { type: 'boolean' },
        only: { type: 'string' },
        peers: { type: 'string' },
        'no-floors': { type: 'boolean' },
        rounds: { type: 'string' },
        json: { type: 'boolean' },
        write: { type: 'boolean' },
        from: { type: 'string' },
        help: { type: 'boolean' },
      },
    }))
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
  const quick = values.quick ?? false
  const names = Object.keys(pools)
  const kindOf = (/** @type {string} */ name) => pools[name]?.kind
  const peers = names.filter((name) => kindOf(name) !== 'prefork' && kindOf(name) !== 'floor')
  const wantedPeers = listed('--peers', values.peers, peers) ?? peers
  return {
    quick,
    all: !quick || (values.all ?? false),
    json: values.json ?? false,
    write: values.write ?? false,
    help: values.help ?? false,
    ...(values.from === undefined ? {} : { from: values.from }),
    rounds: roundsOf(values.rounds, quick),
    cases: listed('--only', values.only, caseNames) ?? [...caseNames],
    pools: names.filter((name) => wantedPeers.includes(name) || kindOf(name) === 'prefork' || (kindOf(name) === 'floor' && !values['no-floors'])),
  }
}
