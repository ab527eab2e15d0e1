/** @import { Case, Metric, PoolEntry, PoolKind, Results } from '../types.js' */
import { number, spreadOf } from './format.js'

/**
 * @typedef {object} Bar
 * @property {string} title
 * @property {PoolKind} kind
 * @property {number} value
 *
 * @typedef {object} Chart
 * @property {string} title
 * @property {Metric} metric
 * @property {Bar[]} bars best first
 */

const BAR_WIDTH = 48

/**
 * @param {Case} each
 * @param {Results} results
 * @param {Record<string, PoolEntry>} pools
 * @returns {Chart[]}
 */
export const chartsOf = (each, results, pools) => {
  const wanted = each.chart ?? [{ metric: Object.keys(each.metrics)[0] ?? '', variant: each.variants[0]?.key ?? '' }]
  return wanted.flatMap(({ metric: name, variant }) => {
    const metric = each.metrics[name]
    const cells = results[each.name]?.[variant]
    if (metric === undefined || cells === undefined) return []
    const bars = Object.entries(cells).flatMap(([pool, cell]) => {
      const entry = pools[pool]
      const value = spreadOf(cell, name)?.median
      return entry === undefined || value === undefined || Number.isNaN(value) ? [] : [{ title: entry.title, kind: entry.kind, value }]
    })
    bars.sort((a, b) => (metric.better === 'more' ? b.value - a.value : a.value - b.value))
    const of = each.variants.find(({ key }) => key === variant)?.title ?? variant
    return [{ title: `${each.title}: ${of}`, metric, bars }]
  })
}

/** The caption of the axis. @param {Metric} metric */
export const axisOf = ({ title, unit, better }) => `${title}${unit.startsWith('/') || unit === '' ? unit : ` in ${unit}`}, ${better} is better`

/**
 * The length of each bar as a share of the longest. The bar of a floor far above the pools is cut, or all pools would look alike.
 * @param {Bar[]} bars
 */
export const lengths = (bars) => {
  const pools = bars.filter(({ kind }) => kind !== 'floor').map(({ value }) => value)
  const longest = Math.max(...(pools.length > 0 ? pools : bars.map(({ value }) => value)))
  return bars.map(({ value }) => ({ share: longest > 0 ? Math.min(1, value / longest) : 0, cut: value > longest }))
}

/** Formats a chart for a terminal. @param {Chart} chart */
export const barsText = ({ title, metric, bars }) => {
  const width = Math.max(0, ...bars.map((bar) => bar.title.length))
  const shares = lengths(bars)
  const lines = bars.map((bar, n) => {
    const { share, cut } = shares[n] ?? { share: 0, cut: false }
    const drawn = '█'.repeat(Math.max(1, Math.round(share * BAR_WIDTH)))
    return `${bar.title.padEnd(width)} ${drawn}${cut ? '▶' : ''} ${number(bar.value, metric.digits)}`
  })
  return [title, `(${axisOf(metric)})`, ...lines].join('\n')
}
