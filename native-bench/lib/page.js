// The page docs/benchmarks.md: the part between the markers is generated, the rest is written by hand and kept.
/** @import { Case, PoolEntry, Run } from '../types.js' */
/** @import { Evaluation } from './targets.js' */
import { GROUPS, groupReport } from './page-tables.js'
import { machineText, targetsTable } from './report.js'

export const BEGIN = '<!-- begin: written by npm run bench -- --write -->'
export const END = '<!-- end: written by npm run bench -- --write -->'

/**
 * @param {string} page
 * @param {string} text
 */
export const replacePart = (page, text) => {
  const from = page.indexOf(BEGIN)
  const to = page.indexOf(END)
  if (from === -1 || to < from) throw new Error(`the page has not the two lines\n${BEGIN}\n${END}`)
  return `${page.slice(0, from + BEGIN.length)}\n\n${text}\n\n${page.slice(to)}`
}

/**
 * The generated part of the page.
 * @param {Run} run
 * @param {Evaluation[]} evaluations
 * @param {Record<string, Case>} cases
 * @param {Record<string, PoolEntry>} pools
 * @param {{ chart: string, figures: string }} files
 */
export const pageText = ({ machine, rounds, results }, evaluations, cases, pools, { chart, figures }) =>
  [
    machineText(machine),
    `${rounds} All variants and metrics, with the least and the most of all rounds: [${figures}](${figures}).`,
    `![The main cases as bars](${chart})`,
    '### Targets',
    targetsTable(evaluations),
    ...GROUPS.flatMap((group) => groupReport(group, cases, results, pools) ?? []),
  ].join('\n\n')

/**
 * The run as JSON with one line for each cell; `--from` reads it.
 * @param {Run} run
 */
export const jsonOf = ({ machine, rounds, results }) => {
  /** @param {Record<string, unknown>} object @param {string} indent @param {(value: any, indent: string) => string} inner */
  const lines = (object, indent, inner) =>
    `{\n${Object.entries(object)
      .map(([key, value]) => `${indent}  ${JSON.stringify(key)}: ${inner(value, `${indent}  `)}`)
      .join(',\n')}\n${indent}}`
  const cases = lines(results, '  ', (variants, within) => lines(variants, within, (cells, deeper) => lines(cells, deeper, (cell) => JSON.stringify(cell))))
  return `{\n  "machine": ${JSON.stringify(machine)},\n  "rounds": ${JSON.stringify(rounds)},\n  "results": ${cases}\n}\n`
}
