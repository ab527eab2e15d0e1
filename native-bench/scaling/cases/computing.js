// Whether more workers than processors push jobs that compute over their time limit.
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { BROKERS, openPublisher } from '../brokers.js'
import { readStamps, stampFile } from '../stamps.js'
import { startNode } from '../start-node.js'
import { EACH_BROKER_BRIEFLY } from './variants.js'

/** @import { Broker, ScalingCase } from '../types.js' */

/** The share of the processors that the jobs take. */
const LOAD = 0.9
/** `job`: CPU of each, ms; `all`: the time in which they arrive, ms. */
const TIMES = { smoke: { job: 50, all: 500 }, full: { job: 1_000, all: 30_000 } }
const TIME_LIMIT = 3_000

/** @type {ScalingCase} */
export const computing = {
  title: 'Jobs that compute',
  about: `Jobs of ${TIMES.full.job / 1_000} s of CPU arrive evenly for ${TIMES.full.all / 1_000} s, so many that they take ${LOAD} of the processors, on a node with timeLimit ${TIME_LIMIT} and maxWorkers 10.`,
  variants: EACH_BROKER_BRIEFLY,
  metrics: {
    overLimit: { title: 'jobs over their limit', unit: '', digits: 0, better: 'less' },
    jobs: { title: 'of', unit: '', digits: 0, better: 'more' },
    most: { title: 'workers at the most', unit: '', digits: 0, better: 'less' },
    longest: { title: 'longest run that ended', unit: 'ms', digits: 0, better: 'less' },
  },
  timeout: 150,
  async measure(plan, { broker: key }) {
    const broker = /** @type {Broker} */ (BROKERS[key])
    const { dist, folder, options, size } = plan
    const { job, all } = TIMES[size]
    const interval = job / (LOAD * availableParallelism())
    const jobs = Math.ceil(all / interval)
    const node = await startNode({
      dist,
      kind: broker.kind,
      options: { ...broker.node(plan), maxWorkers: 10, timeLimit: TIME_LIMIT, ...options },
      events: true,
    })
    const publisher = await openPublisher(dist, broker, plan)
    const began = performance.now()
    for (let n = 0; n < jobs; n++) {
      await sleep(Math.max(0, began + n * interval - performance.now()))
      await publisher.publish('compute', [[stampFile(folder), n, job]], { once: true })
    }
    const { overLimit, most } = await node.reached({ ended: jobs })
    await publisher.close()
    await node.stop()
    return { overLimit, jobs, most, longest: Math.max(0, ...readStamps(folder).map((stamp) => stamp.ended - stamp.began)) }
  },
}
