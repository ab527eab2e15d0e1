/** What the queue is to reach. A ratio compares the medians of rounds in turn. */
/** @import { Goal, QueueResults } from './types.js' */
import { spreadOf } from '../lib/format.js'

/** @param {string} variant @param {string} metric @param {string} text @param {number} bound µs @returns {Goal} */
const cpu = (variant, metric, text, bound) => ({
  text: `CPU of a job: ${text}`,
  sense: 'at most',
  bound,
  digits: 1,
  unit: 'µs',
  value: (figure) => figure('drain', variant, metric),
})

/** @param {string} name @param {string} variant @param {string} metric @param {string} text @param {number} bound @param {string} unit @returns {Goal} */
const most = (name, variant, metric, text, bound, unit) => ({
  text,
  sense: 'at most',
  bound,
  digits: 2,
  unit,
  value: (figure) => figure(name, variant, metric),
})

/** @param {string} one @param {string} other @param {string} text @param {number} bound @param {boolean} disk @returns {Goal} */
const ratio = (one, other, text, bound, disk) => ({
  text,
  sense: 'at least',
  bound,
  digits: 2,
  unit: 'x',
  disk,
  value: (figure) => figure('drain', one, 'perSecond') / figure('drain', other, 'perSecond'),
})

/** @type {readonly Goal[]} */
export const GOALS = [
  ratio('store-64', 'single', 'handler in the process, 64: one transaction a job', 15, true),
  ratio('node-64', 'single', 'node, 64: one transaction a job', 8, true),
  ratio('node-64', 'store-64', 'node, 64: handler in the process', 0.3, false),
  ratio('node-256', 'store-256', 'node, 256: handler in the process', 0.4, false),
  cpu('node-64', 'main', 'main thread, 64', 40.8),
  cpu('node-64', 'store', "the store's thread, 64", 43.2),
  cpu('node-64', 'workers', 'workers, 64', 15.6),
  cpu('node-256', 'main', 'main thread, 256', 24),
  cpu('node-256', 'store', "the store's thread, 256", 25.2),
  cpu('node-256', 'workers', 'workers, 256', 10.8),
  most('latency', 'two', 'startP50', 'two processes: add to start p50', 10, 'ms'),
  most('latency', 'two', 'startP99', 'two processes: add to start p99', 50, 'ms'),
  most('latency', 'embedded', 'resultP50', 'one process: add to result p50', 5, 'ms'),
  most('idle', 'node', 'all', 'idle node with its workers', 0.5, '% of a core'),
  most('idle', 'node', 'tcp', 'TCP sockets of an idle node', 0, ''),
  most('backlog', 'store', 'ratio', 'settle and claim 64: with many that wait against few', 2, 'x'),
  most('backlog', 'store', 'counts', 'counts() of many', 1, 'ms'),
  most('backlog', 'store', 'depth', 'depth of many', 1, 'ms'),
]

/**
 * The goals that have figures. `met` undefined: the disk does not allow a verdict.
 * @param {QueueResults} results @param {boolean} disk whether the time of an fsync is that of a disk
 */
export const evaluateGoals = (results, disk) => {
  const figure = (/** @type {string} */ name, /** @type {string} */ variant, /** @type {string} */ metric) =>
    spreadOf(results[name]?.[variant], metric)?.median ?? Number.NaN
  return GOALS.flatMap((goal) => {
    const value = goal.value(figure)
    if (Number.isNaN(value)) return []
    const met = goal.disk && !disk ? undefined : goal.sense === 'at least' ? value >= goal.bound : value <= goal.bound
    return [{ ...goal, value, met }]
  })
}
