/** @import { Case, Cell, Metrics, PoolEntry, Results, Variant } from '../types.js' */
/** @import { Wanted } from './args.js' */
import { spread } from './statistics.js'

/**
 * @callback Measure
 * @param {string[]} args
 * @param {number} seconds
 * @returns {Promise<{ metrics: Metrics } | { reason: string }>}
 */

const DEFAULT_TIMEOUT = 60

/** `--quick --all`: what the page shows. @param {Wanted} wanted */
const isOfPage = ({ quick, all }) => quick && all

/** @param {Wanted} wanted @param {Variant} variant */
const isWanted = (wanted, { quick, page }) => !wanted.quick || (wanted.all ? page !== undefined : quick)

/** @param {Wanted} wanted @param {Case} each @param {string} pool @param {PoolEntry} entry @param {Variant} variant */
const takesPart = (wanted, each, pool, entry, variant) =>
  (each.pools?.includes(pool) ?? true) &&
  (!isOfPage(wanted) || (variant.page?.pools?.includes(pool) ?? true)) &&
  (entry.kind !== 'floor' || each.floor?.(variant, false) !== undefined)

/** @param {Metrics[]} rounds @returns {Cell} */
const cellOf = (rounds) => {
  const names = Object.keys(rounds[0] ?? {})
  return { metrics: Object.fromEntries(names.map((name) => [name, spread(rounds.map((metrics) => metrics[name] ?? Number.NaN))])) }
}

/**
 * Measures every variant of every case: all pools in turn, round by round, so that a disturbance of the machine affects all pools.
 * A pool that fails once takes no further part in that variant: a median of its successful rounds would flatter it.
 * @param {Wanted} wanted
 * @param {Record<string, Case>} cases
 * @param {Record<string, PoolEntry>} pools
 * @param {Measure} measure
 * @param {(line: string) => void} progress
 * @returns {Promise<Results>}
 */
export const runAll = async (wanted, cases, pools, measure, progress) => {
  /** @type {Results} */
  const results = {}
  for (const name of wanted.cases) {
    const each = /** @type {Case} */ (cases[name])
    results[name] = {}
    for (const variant of each.variants.filter((variant) => isWanted(wanted, variant))) {
      results[name][variant.key] = await runVariant(wanted, each, variant, pools, measure, progress)
    }
  }
  return results
}

/** @param {Wanted} wanted @param {Variant} variant */
const roundsOf = (wanted, { page }) => (isOfPage(wanted) && !page?.often ? 1 : wanted.rounds)

/**
 * @param {Wanted} wanted
 * @param {Case} each
 * @param {Variant} variant
 * @param {Record<string, PoolEntry>} pools
 * @param {Measure} measure
 * @param {(line: string) => void} progress
 */
const runVariant = async (wanted, each, variant, pools, measure, progress) => {
  /** @type {Record<string, Cell>} */
  const cells = {}
  /** @type {Map<string, Metrics[]>} */
  const figures = new Map()
  for (const pool of wanted.pools) {
    const entry = /** @type {PoolEntry} */ (pools[pool])
    if (!takesPart(wanted, each, pool, entry, variant)) continue
    const reason = entry.kind === 'floor' ? undefined : each.refuse?.(entry, variant)
    if (reason === undefined) figures.set(pool, [])
    else cells[pool] = { reason }
  }
  const rounds = Math.min(roundsOf(wanted, variant), variant.maxRounds ?? wanted.rounds)
  const timeout = (wanted.quick ? each.quickTimeout : undefined) ?? each.timeout ?? DEFAULT_TIMEOUT
  for (let round = 1; round <= rounds; round++) {
    for (const [pool, got] of figures) {
      progress(`${each.name}: ${variant.title}, round ${round} of ${rounds}: ${pool}`)
      const args = [each.name, variant.key, pool, ...(wanted.quick ? ['quick'] : [])]
      const answer = await measure(args, timeout)
      if ('metrics' in answer) {
        got.push(answer.metrics)
        continue
      }
      cells[pool] = { reason: answer.reason }
      figures.delete(pool)
    }
  }
  for (const [pool, got] of figures) cells[pool] = cellOf(got)
  // In the order of the pools, refused and failed ones included.
  return Object.fromEntries(wanted.pools.flatMap((pool) => (cells[pool] === undefined ? [] : [[pool, cells[pool]]])))
}
