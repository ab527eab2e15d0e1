/** @import { PoolEntry, PoolKind, Results } from '../types.js' */
import { spreadOf } from './format.js'

/** Finds medians in the results by name. */
export class View {
  #results
  #pools

  /** @param {Results} results @param {Record<string, PoolEntry>} pools */
  constructor(results, pools) {
    this.#results = results
    this.#pools = pools
  }

  /** @param {string} where 'case/variant/metric' @param {string} [pool] @returns {number | undefined} */
  median(where, pool = 'prefork') {
    const [name = '', variant = '', metric = ''] = where.split('/')
    const median = spreadOf(this.#results[name]?.[variant]?.[pool], metric)?.median
    return median === undefined || Number.isNaN(median) ? undefined : median
  }

  /**
   * The best of the peers of these kinds.
   * @param {string} where
   * @param {'more' | 'less'} better
   * @param {readonly PoolKind[]} kinds
   */
  best(where, better, kinds = ['processes', 'threads', 'bare']) {
    const found = Object.entries(this.#pools)
      .filter(([, { kind }]) => kinds.includes(kind))
      .flatMap(([pool, { title }]) => {
        const value = this.median(where, pool)
        return value === undefined ? [] : [{ title, value }]
      })
    found.sort((a, b) => (better === 'more' ? b.value - a.value : a.value - b.value))
    return found[0]
  }

  /** The ratio of prefork's figure to the best peer's. @param {string} where @param {'more' | 'less'} better @param {readonly PoolKind[]} [kinds] */
  timesBest(where, better, kinds) {
    const ours = this.median(where)
    const best = this.best(where, better, kinds)
    return ours === undefined || best === undefined ? undefined : { value: ours / best.value, note: best.title }
  }

  /** The ratio of prefork's figure to another pool's. @param {string} where @param {string} pool */
  times(where, pool) {
    const ours = this.median(where)
    const other = this.median(where, pool)
    return ours === undefined || other === undefined ? undefined : { value: ours / other }
  }
}
