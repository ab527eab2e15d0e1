/** What a node is to reach on a real server. A ratio compares the medians of rounds in turn. */
import { spreadOf } from '../lib/format.js'

/** @import { Goal } from '../queue/types.js' */
/** @import { FaktoryResults } from './types.js' */

/** @param {string} one @param {string} other @param {string} text @param {number} bound @returns {Goal} */
const ratio = (one, other, text, bound) => ({
  text,
  sense: 'at least',
  bound,
  digits: 2,
  unit: 'x',
  value: (figure) => figure('', one, 'perSecond') / figure('', other, 'perSecond'),
})

/** @type {readonly Goal[]} */
export const GOALS = [
  ratio('worker', 'faktory-worker', 'createWorker: faktory-worker', 1.5),
  ratio('cli', 'faktory-worker', 'prefork work: faktory-worker', 1.5),
  ratio('worker', 'bare', 'createWorker: FETCH and ACK by hand', 0.8),
  ratio('cli', 'bare', 'prefork work: FETCH and ACK by hand', 0.8),
]

/**
 * The goals that have figures. `met` undefined: the stand-in gives no verdict.
 * @param {FaktoryResults} results @param {boolean} isReal whether the server is a real one
 */
export const evaluateGoals = (results, isReal) => {
  const figure = (/** @type {string} */ _name, /** @type {string} */ variant, /** @type {string} */ metric) =>
    spreadOf(results[variant], metric)?.median ?? Number.NaN
  return GOALS.flatMap((goal) => {
    const value = goal.value(figure)
    return Number.isNaN(value) ? [] : [{ ...goal, value, met: isReal ? value >= goal.bound : undefined }]
  })
}
