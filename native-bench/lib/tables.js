/** @import { Case, Cell, PoolEntry, Results } from '../types.js' */
import { spreadOf, spreadText } from './format.js'

/**
 * A Markdown table with its columns aligned.
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
export const markdownTable = (head, rows) => {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (/** @type {readonly string[]} */ cells) => `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}

/** @param {Record<string, Record<string, Cell>>} variants */
const poolsIn = (variants) => [...new Set(Object.values(variants).flatMap((cells) => Object.keys(cells)))]

/**
 * With several variants: one table for each metric, one column for each variant. With one variant: one column for each metric.
 * @param {Case} each
 * @param {Record<string, Record<string, Cell>>} variants
 * @param {Record<string, PoolEntry>} pools
 * @returns {{ title: string, table: string }[]}
 */
const tablesOf = (each, variants, pools) => {
  const measured = each.variants.filter(({ key }) => variants[key] !== undefined)
  // In the order of the registry: a pool may lack figures in the first variant alone.
  const names = Object.keys(pools).filter((name) => poolsIn(variants).includes(name))
  const titleOf = (/** @type {string} */ name) => pools[name]?.title ?? name
  const shown = (/** @type {string} */ pool, /** @type {string} */ key, /** @type {string} */ metric) => {
    const spread = spreadOf(variants[key]?.[pool], metric)
    const found = each.metrics[metric]
    return spread === undefined || found === undefined ? '-' : spreadText(spread, found)
  }
  const metrics = Object.entries(each.metrics)
  const withUnit = (/** @type {string} */ title, /** @type {string} */ unit) =>
    unit === '' ? title : unit.startsWith('/') ? `${title}${unit}` : `${title}, ${unit}`
  if (measured.length === 1) {
    const key = measured[0]?.key ?? ''
    const head = ['pool', ...metrics.map(([, { title, unit }]) => withUnit(title, unit))]
    return [
      {
        title: measured[0]?.title ?? '',
        table: markdownTable(
          head,
          names.map((name) => [titleOf(name), ...metrics.map(([metric]) => shown(name, key, metric))]),
        ),
      },
    ]
  }
  return metrics.map(([metric, { title, unit }]) => ({
    title: withUnit(title, unit),
    table: markdownTable(
      ['pool', ...measured.map((variant) => variant.title)],
      names.map((name) => [titleOf(name), ...measured.map(({ key }) => shown(name, key, metric))]),
    ),
  }))
}

/**
 * The reasons of missing figures, each once.
 * @param {Case} each
 * @param {Record<string, Record<string, Cell>>} variants
 * @param {Record<string, PoolEntry>} pools
 */
const reasonsOf = (each, variants, pools) => {
  /** @type {Map<string, Map<string, string[]>>} */
  const byReason = new Map()
  for (const [key, cells] of Object.entries(variants)) {
    for (const [pool, cell] of Object.entries(cells)) {
      if (!('reason' in cell)) continue
      const who = byReason.get(cell.reason) ?? new Map()
      byReason.set(cell.reason, who.set(pools[pool]?.title ?? pool, [...(who.get(pools[pool]?.title ?? pool) ?? []), key]))
    }
  }
  const titleOf = (/** @type {string} */ key) => each.variants.find((variant) => variant.key === key)?.title ?? key
  const all = Object.keys(variants).length
  return [...byReason].map(([reason, who]) => {
    const names = [...who].map(([pool, keys]) => (keys.length === all ? pool : `${pool} (${keys.map(titleOf).join('; ')})`))
    return `- no figure: ${names.join(' · ')}: ${reason}`
  })
}

/**
 * The report of one case as Markdown.
 * @param {Case} each
 * @param {Results} results
 * @param {Record<string, PoolEntry>} pools
 */
export const caseReport = (each, results, pools) => {
  const variants = results[each.name] ?? {}
  const parts = [`### ${each.title}`, each.about]
  for (const { title, table } of tablesOf(each, variants, pools)) parts.push(`${title}:`, table)
  const reasons = reasonsOf(each, variants, pools)
  if (reasons.length > 0) parts.push(reasons.join('\n'))
  return parts.join('\n\n')
}
