// How fast a node that starts with one worker spreads a few long jobs over several.
import { BROKERS, publishAll } from '../brokers.js'
import { now, stampFile, stampsOf } from '../stamps.js'
import { startNode } from '../start-node.js'
import { EACH_BROKER } from './variants.js'

/** @import { Broker, ScalingCase } from '../types.js' */

const WORKERS = 4
const JOBS = 8
const JOB_MS = { smoke: 50, full: 1_500 }

/** @type {ScalingCase} */
export const spread = {
  title: 'Eight long jobs',
  about: `Jobs that block their thread for ${JOB_MS.full / 1_000} s each, on a node with maxWorkers ${WORKERS}. Time: from the first publication, or where the jobs are there before, from the start of the node's work, until all have ended.`,
  variants: {
    ...EACH_BROKER,
    classic: { title: 'RabbitMQ, classic queue', broker: 'classic' },
    queues: { title: 'RabbitMQ, four queues, jobs in one', broker: 'queues' },
    levels: { title: 'RabbitMQ, four priority levels, jobs in one', broker: 'levels' },
    'quorum-before': { title: 'RabbitMQ, quorum queue, jobs before the node', broker: 'quorum', before: true },
    'file-before': { title: 'queue in a file, jobs before the node', broker: 'file', before: true },
  },
  metrics: {
    ms: { title: 'time', unit: 'ms', digits: 0, better: 'less' },
    workers: { title: 'workers that ran jobs', unit: '', digits: 0, better: 'more' },
  },
  ratio: 'ms',
  fixed: {
    title: `minWorkers ${WORKERS}, one job held for each`,
    // Under Faktory a worker holds as many as it runs.
    options: (kind) => ({ minWorkers: WORKERS, ...(kind === 'faktory' ? { concurrency: 1 } : { prefetchPerWorker: 1 }) }),
  },
  timeout: 60,
  async measure(plan, { broker: key, before = false }) {
    const broker = /** @type {Broker} */ (BROKERS[key])
    const { dist, folder, options, size } = plan
    const jobs = Array.from({ length: JOBS }, (_, n) => [stampFile(folder), n, JOB_MS[size]])
    const publish = () => publishAll(dist, broker, plan, 'block', jobs)
    if (before) await publish()
    const node = await startNode({ dist, kind: broker.kind, options: { ...broker.node(plan), maxWorkers: WORKERS, ...options }, events: false })
    const from = before ? node.upAt : now()
    if (!before) await publish()
    const stamps = await stampsOf(folder, JOBS)
    await node.stop()
    return { ms: Math.max(...stamps.map(({ ended }) => ended)) - from, workers: new Set(stamps.map(({ pid }) => pid)).size }
  },
}
