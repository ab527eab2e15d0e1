/** @import { Cell, Metric } from '../types.js' */
/** @import { evaluateGoals } from './goals.js' */
/** @import { QueueCase } from './types.js' */
import { number, spreadOf, spreadText } from '../lib/format.js'
import { markdownTable } from '../lib/tables.js'

/** @param {Metric} metric */
const headOf = ({ title, unit }) => (unit === '' ? title : unit.startsWith('/') ? `${title}${unit}` : `${title}, ${unit}`)

/** The table of a case. @param {QueueCase} each @param {Record<string, Cell>} cells by variant */
export const caseTable = ({ title, about, variants, metrics }, cells) => {
  const rows = Object.entries(cells).flatMap(([key, cell]) => {
    if (!('metrics' in cell)) return []
    const figures = Object.entries(metrics).map(([name, metric]) => {
      const spread = spreadOf(cell, name)
      return spread === undefined ? '-' : spreadText(spread, metric)
    })
    return [[variants[key]?.title ?? key, ...figures]]
  })
  const missing = Object.entries(cells).flatMap(([key, cell]) => ('reason' in cell ? [`- no figure: ${variants[key]?.title ?? key}: ${cell.reason}`] : []))
  return [`### ${title}`, about, markdownTable(['', ...Object.values(metrics).map(headOf)], rows), ...(missing.length > 0 ? [missing.join('\n')] : [])].join(
    '\n\n',
  )
}

/** @param {ReturnType<typeof evaluateGoals>} goals */
export const goalsTable = (goals) =>
  markdownTable(
    ['goal', 'wanted', 'measured', 'met'],
    goals.map(({ text, sense, bound, digits, unit, value, met }) => [
      text,
      `${sense === 'at least' ? '≥' : '≤'} ${bound}${unit === 'x' ? '' : ' '}${unit}`.trim(),
      `${number(value, digits)}${unit === 'x' ? '' : ' '}${unit}`.trim(),
      met === undefined ? 'not on this disk' : met ? 'yes' : '**no**',
    ]),
  )
