import { parseArgs } from 'node:util'
import { UsageError } from '../lib/args.js'

/** @import { ScalingVariant, Size } from './types.js' */

const ROUNDS = /** @type {Readonly<Record<Size, number>>} */ ({ smoke: 1, full: 5 })

export const USAGE = `npm run bench:scaling -- [options]

RabbitMQ is that of RABBITMQ_URL, or of this machine; Faktory that of FAKTORY_URL, or the stand-in of the tests; the queue in a file needs Node 22.13.

  --against <folder>  another checkout of prefork that is built: each round measures it too, at its own defaults
  --only <a,b>        these cases, or variants of them: 'spread', 'noop/file'
  --rounds <n>        rounds of all nodes in turn; default ${ROUNDS.full}
  --smoke             one tiny round of the main variants: shows in less than a minute that all cases run
  --json <file>       also writes the results to this file
  --help              this text`

/**
 * @typedef {object} ScalingWanted
 * @property {Size} size
 * @property {number} rounds
 * @property {[name: string, variants: string[]][]} cases with their variants
 * @property {string} [against] a folder
 * @property {string} [json] a file
 * @property {boolean} help
 */

/** @param {readonly string[]} args */
const parsed = (args) => {
  try {
    return parseArgs({
      args: [...args],
      options: {
        against: { type: 'string' },
        only: { type: 'string' },
        rounds: { type: 'string' },
        smoke: { type: 'boolean' },
        json: { type: 'string' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

/** @param {string} only @param {Readonly<Record<string, readonly string[]>>} known variants by case @returns {Set<string>} 'case/variant' */
const named = (only, known) => {
  const names = only.split(',').map((name) => name.trim())
  const all = Object.entries(known).flatMap(([name, variants]) => variants.map((variant) => `${name}/${variant}`))
  const chosen = names.map((name) => all.filter((each) => each === name || each.startsWith(`${name}/`)))
  const unknown = names.filter((_, index) => chosen[index]?.length === 0)
  if (unknown.length > 0) {
    const there = Object.entries(known).map(([name, variants]) => `${name} (${variants.join(', ')})`)
    throw new UsageError(`--only: there is no '${unknown.join("', '")}'. There are: ${there.join('; ')}`)
  }
  return new Set(chosen.flat())
}

/** @param {readonly string[]} args @param {Readonly<Record<string, { variants: Record<string, ScalingVariant> }>>} cases @returns {ScalingWanted} */
export const readScalingArgs = (args, cases) => {
  const { against, only, rounds, smoke = false, json, help = false } = parsed(args)
  const size = smoke ? 'smoke' : 'full'
  const count = rounds === undefined ? ROUNDS[size] : Number(rounds)
  if (!Number.isInteger(count) || count < 1) throw new UsageError(`--rounds: a whole number from 1 on is wanted, not '${rounds}'`)
  const known = Object.fromEntries(Object.entries(cases).map(([name, { variants }]) => [name, Object.keys(variants)]))
  const chosen = only === undefined ? undefined : named(only, known)
  const wantedOf = (/** @type {string} */ name, /** @type {Record<string, ScalingVariant>} */ variants) =>
    Object.entries(variants).flatMap(([key, variant]) => ((chosen === undefined ? !smoke || variant.smoke : chosen.has(`${name}/${key}`)) ? [key] : []))
  return {
    size,
    rounds: count,
    cases: Object.entries(cases).flatMap(([name, { variants }]) => {
      const keys = wantedOf(name, variants)
      return keys.length === 0 ? [] : [/** @type {[string, string[]]} */ ([name, keys])]
    }),
    ...(against === undefined ? {} : { against }),
    ...(json === undefined ? {} : { json }),
    help,
  }
}
