/** @import { Spread } from '../types.js' */

/**
 * The value below which a share `q` of the sorted values lies.
 * @param {ArrayLike<number>} sorted
 * @param {number} q
 * @returns {number}
 */
export const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN

/**
 * Of an even number of values the median is the mean of the middle two.
 * @param {readonly number[]} values
 * @returns {Spread}
 */
export const spread = (values) => {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = quantile(sorted, 0.5)
  const lower = sorted.length % 2 === 0 ? (sorted[sorted.length / 2 - 1] ?? Number.NaN) : upper
  return { median: (lower + upper) / 2, least: quantile(sorted, 0), most: quantile(sorted, 1), rounds: sorted.length }
}

/**
 * Numbers between 0 and 1 that are the same in each run (mulberry32).
 * @param {number} seed
 */
export const seeded = (seed) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
