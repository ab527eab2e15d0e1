/** @import { Chart } from './charts.js' */
/** @import { PoolKind } from '../types.js' */
import { axisOf, lengths } from './charts.js'
import { number } from './format.js'

const COLUMNS = 2
const PANEL_WIDTH = 560
const NAME_WIDTH = 170
const VALUE_WIDTH = 90
const HEAD_HEIGHT = 58
const BAR_HEIGHT = 15
const BAR_STEP = 21
const MARGIN = 20

/** @type {Record<PoolKind, string>} */
const COLOURS = { prefork: '#d9480f', processes: '#1c7ed6', threads: '#868e96', bare: '#74c0fc', floor: '#ced4da' }
const LEGEND = /** @type {const} */ ([
  ['prefork', 'prefork'],
  ['processes', 'processes'],
  ['bare', 'bare fork: no pool'],
  ['threads', 'threads'],
  ['floor', 'floors: no pool'],
])

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`)

/** @param {number} x @param {number} y @param {string} text @param {string} [attributes] */
const label = (x, y, text, attributes = '') => `<text x="${x}" y="${y}" ${attributes}>${escaped(text)}</text>`

/** @param {Chart} chart @param {number} x @param {number} y */
const panel = ({ title, metric, bars }, x, y) => {
  const room = PANEL_WIDTH - NAME_WIDTH - VALUE_WIDTH - MARGIN
  const shares = lengths(bars)
  const drawn = bars.map((bar, n) => {
    const { share, cut } = shares[n] ?? { share: 0, cut: false }
    const top = y + HEAD_HEIGHT + n * BAR_STEP
    const width = Math.max(1, Math.round(share * room))
    const weight = bar.kind === 'prefork' ? ' font-weight="bold"' : ''
    return [
      label(x + NAME_WIDTH - 8, top + 12, bar.title, `text-anchor="end"${weight}`),
      `<rect x="${x + NAME_WIDTH}" y="${top}" width="${width}" height="${BAR_HEIGHT}" fill="${COLOURS[bar.kind]}"/>`,
      label(x + NAME_WIDTH + width + 6, top + 12, `${cut ? '» ' : ''}${number(bar.value, metric.digits)}`, weight),
    ].join('')
  })
  return [label(x + MARGIN, y + 22, title, 'font-size="14" font-weight="bold"'), label(x + MARGIN, y + 40, axisOf(metric), 'fill="#555"'), ...drawn].join('\n')
}

/**
 * All charts in one SVG, with a background of its own: the page may be dark.
 * @param {Chart[]} charts
 * @param {string} caption
 */
export const svgSheet = (charts, caption) => {
  const rowHeight = HEAD_HEIGHT + Math.max(0, ...charts.map(({ bars }) => bars.length)) * BAR_STEP + MARGIN
  const rows = Math.ceil(charts.length / COLUMNS)
  const top = 56
  const width = COLUMNS * PANEL_WIDTH
  const height = top + rows * rowHeight
  const legend = LEGEND.map(
    ([kind, text], n) => `<rect x="${MARGIN + n * 150}" y="34" width="11" height="11" fill="${COLOURS[kind]}"/>${label(MARGIN + 17 + n * 150, 44, text)}`,
  )
  const panels = charts.map((chart, n) => panel(chart, (n % COLUMNS) * PANEL_WIDTH, top + Math.floor(n / COLUMNS) * rowHeight))
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#111">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    label(MARGIN, 22, caption, 'fill="#555"'),
    ...legend,
    ...panels,
    '</svg>',
  ].join('\n')}\n`
}
