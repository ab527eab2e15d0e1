// The tables of docs/benchmarks.md: the main figures, related cases side by side. docs/benchmarks.json has all figures.
/** @import { Case, Cell, Metric, PoolEntry, Results } from '../types.js' */
import { number, spreadOf } from './format.js'
import { markdownTable } from './tables.js'

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {string} where 'case/variant/metric'
 *
 * @typedef {object} Group
 * @property {string} title
 * @property {Column[]} columns
 * @property {Column[]} [variants] the rows, with `where` 'case/variant', of a group that has prefork's figures alone; `where` of its columns is then a metric
 */

/** @param {string} title @param {string} where @returns {Column} */
const column = (title, where) => ({ title, where })

/** @type {Group[]} */
export const GROUPS = [
  {
    title: 'Throughput',
    columns: [
      column('no-ops/s', 'noop/2w-128/perSecond'),
      column("host's CPU, µs", 'noop/2w-128/hostMicros'),
      column('1 KB objects/s', 'objects/1KB/perSecond'),
      column('64 KB Buffers/s', 'buffers/64KB/perSecond'),
      column('1 MB Buffers/s', 'buffers/1MB/perSecond'),
    ],
  },
  {
    title: 'Latency and start',
    columns: [
      column('round trip p50, µs', 'rtt/one/p50'),
      column('p99, µs', 'rtt/one/p99'),
      column('mixed p99, ms', 'mixed/mixed/p99'),
      column('waited for 5 s', 'mixed/mixed/waited'),
      column('first result, ms', 'start/2w/ms'),
      column('import, ms', 'import/import/ms'),
    ],
  },
  {
    title: 'Many jobs, many workers',
    columns: [
      column('100,000 done, ms', 'queued/100k/ms'),
      column('host grew, MB', 'queued/100k/grownMB'),
      column('1,000 queued/s', 'growth/1e3/perSecond'),
      column('1,000,000 queued/s', 'growth/1e6/perSecond'),
      column('32 workers/s', 'workers/32w/perSecond'),
      column('64 workers, 4,096 callers: host, µs', 'workers/64w-4096/hostMicros'),
    ],
  },
  {
    title: 'The host under load, and idle',
    columns: [
      column('HTTP p99 beside no-ops, ms', 'latency/noop-50MB/httpP99'),
      column('1 KB objects', 'latency/1KB-50MB/httpP99'),
      column('1 ms jobs', 'latency/1ms-50MB/httpP99'),
      column("a job alone: host's CPU, µs", 'alone/warm/hostMicros'),
      column('idle worker PSS, MB', 'idle/4w/shareMB'),
      column('resident, MB', 'idle/4w/residentMB'),
    ],
  },
  {
    title: 'Workers that are replaced',
    columns: [
      column('calls/s with crashes', 'crash/crash/perSecond'),
      column('kept, %', 'crash/crash/kept'),
      column('others rejected', 'crash/crash/innocents'),
      column('kept with recycling, 10 ms jobs, %', 'recycle/10ms/kept'),
      column('no-ops, %', 'recycle/0ms/kept'),
    ],
  },
  {
    title: 'No-ops from RabbitMQ',
    variants: [column('quorum queue', 'farm/quorum'), column('classic queue', 'farm/classic')],
    columns: [
      column('prefork work, jobs/s', 'perSecond'),
      column('createWorker', 'libraryPerSecond'),
      column('bare client', 'clientPerSecond'),
      column('work to client', 'ratio'),
      column('CPU of a job: node, µs', 'nodeMicros'),
      column('client, µs', 'clientMicros'),
    ],
  },
]

/** All that the tables show, as 'case/variant/metric'. */
export const SHOWN = GROUPS.flatMap(({ variants, columns }) =>
  columns.flatMap(({ where }) => (variants === undefined ? [where] : variants.map((each) => `${each.where}/${where}`))),
)

/** @param {Metric} metric @param {number | undefined} value */
const figure = (metric, value) => (value === undefined ? '-' : number(value, Math.abs(value) >= 1_000 ? 0 : metric.digits))

/**
 * The reasons of missing figures: one line for each reason and set of columns.
 * @param {(Column & { cells: Record<string, Cell> })[]} columns
 * @param {Record<string, PoolEntry>} pools
 */
const reasonsOf = (columns, pools) => {
  /** @type {Map<string, string[]>} */
  const byReason = new Map()
  for (const [pool, { title }] of Object.entries(pools)) {
    /** @type {Map<string, string[]>} */
    const titles = new Map()
    for (const each of columns) {
      const cell = each.cells[pool]
      if (cell !== undefined && 'reason' in cell) titles.set(cell.reason, [...(titles.get(cell.reason) ?? []), each.title])
    }
    for (const [reason, missing] of titles) {
      const text = `${missing.length === columns.length ? '' : ` (${missing.join('; ')})`}: ${reason}`
      byReason.set(text, [...(byReason.get(text) ?? []), title])
    }
  }
  return [...byReason].map(([text, titles]) => `- no figure: ${titles.join(' · ')}${text}`)
}

/**
 * The section of a group as Markdown; undefined if none of it was measured. A pool without a figure has no row; its reason is below the table.
 * @param {Group} group
 * @param {Record<string, Case>} cases
 * @param {Results} results
 * @param {Record<string, PoolEntry>} pools
 */
export const groupReport = (group, cases, results, pools) => {
  if (group.variants !== undefined) return variantsReport(group.title, group.variants, group.columns, cases, results)
  const { title, columns: all } = group
  const columns = all.flatMap(({ title, where }) => {
    const [name = '', variant = '', metricName = ''] = where.split('/')
    const metric = cases[name]?.metrics[metricName]
    const cells = results[name]?.[variant]
    return metric === undefined || cells === undefined ? [] : [{ title, where, name, metric, metricName, cells }]
  })
  if (columns.length === 0) return undefined
  const rows = Object.entries(pools).flatMap(([pool, entry]) => {
    const texts = columns.map(({ metric, metricName, cells }) => figure(metric, spreadOf(cells[pool], metricName)?.median))
    return texts.every((text) => text === '-') ? [] : [[entry.title, ...texts]]
  })
  const names = [...new Set(columns.map(({ name }) => name))]
  const about = names.map((name) => `${names.length > 1 ? `- ${cases[name]?.title}: ` : ''}${cases[name]?.about}`)
  const table = markdownTable(['pool', ...columns.map((each) => each.title)], rows)
  return [`### ${title}`, about.join('\n'), table, ...[reasonsOf(columns, pools).join('\n')].filter((text) => text !== '')].join('\n\n')
}

const OURS = 'prefork'

/**
 * The section of a group whose rows are variants; undefined if none of it was measured.
 * @param {string} title
 * @param {Column[]} variants
 * @param {Column[]} columns
 * @param {Record<string, Case>} cases
 * @param {Results} results
 */
const variantsReport = (title, variants, columns, cases, results) => {
  const found = variants.flatMap((each) => {
    const [name = '', variant = ''] = each.where.split('/')
    const cell = results[name]?.[variant]?.[OURS]
    return cell === undefined ? [] : [{ name, title: each.title, cell }]
  })
  const first = found[0]
  if (first === undefined) return undefined
  const rows = found.map(({ name, title, cell }) => [
    title,
    ...columns.map(({ where }) => {
      const metric = cases[name]?.metrics[where]
      return metric === undefined ? '-' : figure(metric, spreadOf(cell, where)?.median)
    }),
  ])
  return [`### ${title}`, cases[first.name]?.about, markdownTable(['', ...columns.map((each) => each.title)], rows)].join('\n\n')
}
