// Whether short jobs wait behind a long one while a worker of another node is free.

import { seeded } from '../../lib/statistics.js'
import { BROKERS, publishAll } from '../brokers.js'
import { longestWait, now, stampFile, stampsOf } from '../stamps.js'
import { startNode } from '../start-node.js'
import { EACH_BROKER_BRIEFLY } from './variants.js'

/** @import { Broker, ScalingCase } from '../types.js' */

const TIMES = { smoke: { long: 400, short: 5, jobs: 20 }, full: { long: 10_000, short: 10, jobs: 200 } }
/** The long job is one of so many first ones. */
const FIRST = 10

/** @type {ScalingCase} */
export const fair = {
  title: 'A long job among short ones',
  about: `Two nodes with maxWorkers 1 on one queue; one job of ${TIMES.full.long / 1_000} s, in a random position among the first ${FIRST}, and ${TIMES.full.jobs} of ${TIMES.full.short} ms of the same task, all of which block their thread.`,
  variants: EACH_BROKER_BRIEFLY,
  metrics: {
    wait: { title: 'longest wait of a short job while a worker was free', unit: 'ms', digits: 0, better: 'less' },
    ms: { title: 'until the last short job had ended', unit: 'ms', digits: 0, better: 'less' },
  },
  timeout: 90,
  async measure(plan, { broker: key }) {
    const broker = /** @type {Broker} */ (BROKERS[key])
    const { dist, folder, options, size, round } = plan
    const { long, short, jobs } = TIMES[size]
    const position = Math.floor(FIRST * seeded(round)())
    const nodePlan = { dist, kind: broker.kind, options: { ...broker.node(plan), maxWorkers: 1, ...options }, events: false }
    const nodes = await Promise.all([startNode(nodePlan), startNode(nodePlan)])
    const published = now()
    const all = Array.from({ length: jobs + 1 }, (_, n) => [stampFile(folder), n, n === position ? long : short])
    await publishAll(dist, broker, plan, 'block', all)
    const stamps = await stampsOf(folder, all.length)
    const pids = (await Promise.all(nodes.map((node) => node.reached({})))).flatMap((report) => report.pids)
    await Promise.all(nodes.map((node) => node.stop()))
    const isShort = (/** @type {{ n: number }} */ { n }) => n !== position
    const last = Math.max(...stamps.filter(isShort).map(({ ended }) => ended))
    return { wait: longestWait(stamps, pids, published, isShort), ms: last - published }
  },
}
