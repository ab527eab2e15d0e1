/** @import { Figures, ScalingCase, Subject } from './types.js' */
import { number, spreadText } from '../lib/format.js'
import { spread } from '../lib/statistics.js'
import { markdownTable } from '../lib/tables.js'

/** The first subject's figure divided by another's, round by round. @param {Figures | undefined} first @param {Figures | undefined} other @param {string} metric */
export const ratiosOf = (first, other, metric) => {
  if (first === undefined || other === undefined || !('rounds' in first && 'rounds' in other)) return []
  return first.rounds.flatMap((figures, index) => {
    const ratio = (figures[metric] ?? Number.NaN) / (other.rounds[index]?.[metric] ?? Number.NaN)
    return Number.isNaN(ratio) ? [] : [ratio]
  })
}

/** @param {{ title: string, unit: string }} metric */
const headOf = ({ title, unit }) => (unit === '' ? title : unit.startsWith('/') ? `${title}${unit}` : `${title}, ${unit}`)

/** @param {number[]} ratios */
const ratioText = (ratios) => {
  if (ratios.length === 0) return ['', '']
  return [number(spread(ratios).median, 2), ratios.map((ratio) => number(ratio, 2)).join(', ')]
}

/** The table of a case. @param {ScalingCase} each @param {Record<string, Record<string, Figures>>} cells by variant and subject @param {Record<string, Subject>} subjects */
export const scalingTable = ({ title, about, variants, metrics, ratio }, cells, subjects) => {
  const [firstKey = ''] = Object.keys(subjects)
  const shown = Object.entries(cells).flatMap(([variant, bySubject]) =>
    Object.entries(bySubject).map(([subject, figures]) => ({
      names: [variants[variant]?.title ?? variant, subjects[subject]?.title ?? subject],
      variant,
      subject,
      figures,
    })),
  )
  const rows = shown.flatMap(({ names, variant, subject, figures }) => {
    if (!('rounds' in figures) || figures.rounds.length === 0) return []
    const values = Object.entries(metrics).map(([key, metric]) => spreadText(spread(figures.rounds.map((each) => each[key] ?? Number.NaN)), metric))
    const ratios = ratio === undefined || subject === firstKey ? [] : ratiosOf(cells[variant]?.[firstKey], figures, ratio)
    return [[...names, ...values, ...(ratio === undefined ? [] : ratioText(ratios))]]
  })
  const reasons = shown.flatMap(({ names, figures }) => ('reason' in figures ? [{ names, reason: figures.reason }] : []))
  // What all nodes of a variant lack is said once.
  const missing = reasons.map(({ names: [variant, subject], reason }) => {
    const isOfAll = shown.every(({ names, figures }) => names[0] !== variant || ('reason' in figures && figures.reason === reason))
    return `- no figure: ${isOfAll ? variant : `${variant}, ${subject}`}: ${reason}`
  })
  const compared = ratio === undefined ? [] : [`${metrics[ratio]?.title}: defaults / this`, 'round by round']
  const head = ['jobs from', 'node', ...Object.values(metrics).map(headOf), ...compared]
  return [
    `### ${title}`,
    about,
    ...(rows.length > 0 ? [markdownTable(head, rows)] : []),
    ...(missing.length > 0 ? [[...new Set(missing)].join('\n')] : []),
  ].join('\n\n')
}
