/** @import { Case, Machine, PoolEntry, Results } from '../types.js' */
/** @import { Evaluation } from './targets.js' */
import { number } from './format.js'
import { caseReport, markdownTable } from './tables.js'

/** @param {number} value */
const digitsFor = (value) => (Math.abs(value) >= 100 ? 0 : 2)

/** @param {number} value @param {string} unit */
const withUnit = (value, unit) => `${number(value, digitsFor(value))}${unit === '' || unit === 'x' ? unit : ` ${unit}`}`

/** @param {Evaluation[]} evaluations */
export const targetsTable = (evaluations) =>
  markdownTable(
    ['target', 'wanted', 'measured', 'met'],
    evaluations.map(({ text, sense, bound, unit, found, met }) => [
      text,
      `${sense === 'at least' ? '≥' : '≤'} ${withUnit(bound, unit)}`,
      `${withUnit(found.value, unit)}${found.note === undefined ? '' : ` (${found.note})`}`,
      met ? 'yes' : '**no**',
    ]),
  )

/** @param {Machine} machine */
export const machineText = ({ cpu, cores, memoryGB, system, node, commit, date, command }) =>
  [`${date}, commit ${commit}, Node ${node}, ${system}; ${cpu}, ${cores} cores, ${number(memoryGB, 0)} GB.`, '', '```sh', command, '```'].join('\n')

/** @param {Record<string, PoolEntry>} pools */
export const configurations = (pools) =>
  markdownTable(
    ['pool', 'configuration'],
    Object.values(pools).map(({ title, configuration }) => [title, configuration]),
  )

/** @param {Record<string, Case>} cases @param {Results} results @param {Record<string, PoolEntry>} pools */
export const caseReports = (cases, results, pools) =>
  Object.keys(results).flatMap((name) => (cases[name] === undefined ? [] : [caseReport(cases[name], results, pools)]))
