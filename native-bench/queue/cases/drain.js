// How fast a queue that was filled before is emptied, and what that costs.
import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf, cpuMs, threadCpu, writtenBytes } from '../../lib/processes.js'
import { openBullmq } from '../variants/bullmq.js'
import { openGraphile } from '../variants/graphile-worker.js'
import { openNode } from '../variants/node.js'
import { openPgBoss } from '../variants/pg-boss.js'
import { openPlain } from '../variants/plain.js'
import { openSingle, openStore } from '../variants/store.js'

/** @import { Metrics } from '../../types.js' */
/** @import { Context, Drain, DrainOptions, QueueCase, QueueVariant, Size } from '../types.js' */

/** The share of the jobs, and the longest time, before the measurement: start, compilation, and the first jobs that are kept no longer. */
const WARM = 0.35
const WARM_MS = 4_000
/** The share that is not measured at the end: the last ones do not keep every worker busy. */
const LAST = 0.05
const LONGEST_MS = 6_000
const POLL_MS = 10

/** CPU of this process, by thread, and of its children, ms. */
const cpu = () => ({ threads: threadCpu(process.pid), workers: childrenOf(process.pid).reduce((sum, pid) => sum + cpuMs(pid), 0) })

/** @typedef {ReturnType<typeof cpu>} Cpu */

/** CPU of each job, µs. The store's thread is the one that works most, of those beside the main one. @param {Cpu} from @param {Cpu} to @param {number} jobs @returns {Metrics} */
const cpuOf = (from, to, jobs) => {
  const spent = [...to.threads].map(([thread, ms]) => ({ thread, micros: (1_000 * (ms - (from.threads.get(thread) ?? 0))) / jobs }))
  const main = spent.find(({ thread }) => thread === process.pid)?.micros ?? Number.NaN
  const others = spent.filter(({ thread }) => thread !== process.pid).map(({ micros }) => micros)
  const store = Math.max(0, ...others)
  return { main, store, engine: others.reduce((sum, each) => sum + each, 0) - store, workers: (1_000 * (to.workers - from.workers)) / jobs }
}

/** @param {Drain} drain @param {number} jobs @returns {Promise<Metrics>} */
const measureDrain = async (drain, jobs) => {
  /** @param {number} wanted @param {number} longest */
  const downTo = async (wanted, longest) => {
    const end = performance.now() + longest
    let left = await drain.left()
    while (left > wanted && performance.now() < end) {
      await sleep(POLL_MS)
      left = await drain.left()
    }
    return { left, at: performance.now(), cpu: cpu(), written: writtenBytes(process.pid) }
  }
  await drain.start()
  const from = await downTo(jobs * (1 - WARM), WARM_MS)
  const to = await downTo(jobs * LAST, LONGEST_MS)
  await drain.stop()
  const done = from.left - to.left
  if (done <= 0) throw new Error('no job was done')
  return { perSecond: (1_000 * done) / (to.at - from.at), ...cpuOf(from.cpu, to.cpu, done), written: (to.written - from.written) / 1_024 / done }
}

/** @typedef {(options: DrainOptions) => Promise<Drain>} Open */
/** Jobs by size. @typedef {Record<Size, number>} Jobs */

/** @param {string} title @param {Open} open @param {Jobs} jobs @param {number} outstanding @param {QueueVariant['server']} [server] @returns {QueueVariant} */
const variant = (title, open, jobs, outstanding, server) => ({
  title,
  ...(server === undefined ? {} : { server }),
  measure: async ({ folder, size }) => measureDrain(await open({ folder, jobs: jobs[size], outstanding }), jobs[size]),
})

const SLOW = { smoke: 200, short: 6_000, full: 12_000 }
const FAST = { smoke: 1_000, short: 40_000, full: 90_000 }
const PEERS = { smoke: 500, short: 15_000, full: 30_000 }

/** @type {QueueCase} */
export const drain = {
  title: 'No-ops from a full queue',
  about: 'Jobs that were added before are run. The number is that of jobs which are claimed and not settled, at most.',
  timeout: 90,
  variants: {
    plain: variant('SQLite by hand, one transaction a job', openPlain, SLOW, 1),
    single: variant('the store, one transaction a job', openSingle, SLOW, 1),
    'store-64': variant('handler in the process, 64', openStore, FAST, 64),
    'node-64': variant('node, 2 workers, 64', openNode, FAST, 64),
    'store-256': variant('handler in the process, 256', openStore, FAST, 256),
    'node-256': variant('node, 2 workers, 256', openNode, FAST, 256),
    bullmq: variant('BullMQ, handler in the process, 64', openBullmq, PEERS, 64, 'redis'),
    graphile: variant('graphile-worker, handler in the process, 64', openGraphile, PEERS, 64, 'postgres'),
    'pg-boss': variant('pg-boss, fetch and complete, 64', openPgBoss, PEERS, 64, 'postgres'),
  },
  metrics: {
    perSecond: { title: 'jobs', unit: '/s', digits: 0, better: 'more' },
    main: { title: 'CPU of the main thread', unit: 'µs', digits: 1, better: 'less' },
    store: { title: "the store's thread", unit: 'µs', digits: 1, better: 'less' },
    engine: { title: 'other threads', unit: 'µs', digits: 1, better: 'less' },
    workers: { title: 'workers', unit: 'µs', digits: 1, better: 'less' },
    written: { title: 'written', unit: 'KiB', digits: 1, better: 'less' },
  },
}
