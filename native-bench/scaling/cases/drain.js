// How fast a node at its defaults empties a full queue of short jobs.
import { BROKERS, publishAll } from '../brokers.js'
import { startNode } from '../start-node.js'
import { EACH_BROKER, EACH_BROKER_BRIEFLY } from './variants.js'

/** @import { Broker, Kind, Metrics, Plan, ScalingCase, ScalingVariant, Size } from '../types.js' */

/** Jobs before the measurement. */
const WARM = 100

/** @type {Record<Size, Record<Kind, number>>} */
const NOOPS = { smoke: { amqp: 500, queue: 500, faktory: 500 }, full: { amqp: 60_000, queue: 30_000, faktory: 20_000 } }
const WAITING = { smoke: 150, full: 4_000 }
const WAIT_MS = 100

/** @param {Plan} plan @param {ScalingVariant} variant @param {string} task @param {unknown[][]} jobs @param {object} options @returns {Promise<Metrics>} */
const drain = async (plan, { broker: key }, task, jobs, options) => {
  const broker = /** @type {Broker} */ (BROKERS[key])
  const { dist } = plan
  await publishAll(dist, broker, plan, task, jobs)
  const node = await startNode({ dist, kind: broker.kind, options: { ...broker.node(plan), ...options, ...plan.options }, events: false })
  const from = await node.reached({ ended: WARM })
  const to = await node.reached({ ended: jobs.length })
  await node.stop()
  const done = to.ended - from.ended
  if (done <= 0) throw new Error('the jobs had ended before they were measured: there must be more of them')
  return { perSecond: (1_000 * done) / (to.at - from.at), micros: (to.micros - from.micros) / done, most: to.most }
}

const METRICS = /** @type {ScalingCase['metrics']} */ ({
  perSecond: { title: 'jobs', unit: '/s', digits: 0, better: 'more' },
  micros: { title: "CPU of the node's process for each", unit: 'µs', digits: 1, better: 'less' },
  most: { title: 'workers at the most', unit: '', digits: 0, better: 'less' },
})

/** @type {ScalingCase} */
export const noop = {
  title: 'No-ops from a full queue',
  about: `Measured after the first ${WARM} jobs.`,
  variants: EACH_BROKER,
  metrics: METRICS,
  ratio: 'perSecond',
  timeout: 120,
  measure: (plan, variant) => {
    const { kind } = /** @type {Broker} */ (BROKERS[variant.broker])
    return drain(
      plan,
      variant,
      'noop',
      Array.from({ length: NOOPS[plan.size][kind] }, (_, n) => [n]),
      {},
    )
  },
}

/** @type {ScalingCase} */
export const waiting = {
  title: 'Jobs that wait, from a full queue',
  about: `Each awaits ${WAIT_MS} ms, with concurrency 10. Measured after the first ${WARM} jobs.`,
  variants: EACH_BROKER_BRIEFLY,
  metrics: METRICS,
  ratio: 'perSecond',
  timeout: 120,
  measure: (plan, variant) =>
    drain(
      plan,
      variant,
      'wait',
      Array.from({ length: WAITING[plan.size] }, () => [WAIT_MS]),
      { concurrency: 10 },
    ),
}
