/** @import { Case, Variant } from '../types.js' */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { PREFETCH, WORKERS } from '../farm/plan.js'
import { BROKER_URL, fullQueue } from '../farm/queue.js'

/** @typedef {Variant & { queueType: 'quorum' | 'classic' }} FarmVariant */

const HOST = fileURLToPath(new URL('../farm/host.js', import.meta.url))
const JOBS = 80_000
const QUICK_JOBS = 60_000
/** Time for the broker to write the queue to disk, ms. */
const SETTLE_MS = 2_000
/** Node and client alternate, so that a disturbance of the machine affects both. */
const TURNS = 5
const QUICK_TURNS = 3
const LONGEST = 120_000

/** @param {string} consumer @param {FarmVariant} variant @param {number} jobs @returns {Promise<{ perSecond: number, hostMicros: number }>} */
const drain = async (consumer, { queueType }, jobs) => {
  const { queue, remove } = await fullQueue(jobs, queueType)
  try {
    await sleep(SETTLE_MS)
    const { stdout } = await execa(process.execPath, [HOST, consumer, BROKER_URL, queue, String(jobs), queueType], { timeout: LONGEST })
    return JSON.parse(stdout)
  } finally {
    await remove()
  }
}

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** @type {Case<FarmVariant>} */
export default {
  name: 'farm',
  title: 'No-ops from RabbitMQ',
  about: `A queue of ${JOBS.toLocaleString('en')} no-ops (with --quick ${QUICK_JOBS.toLocaleString('en')}) is emptied by a node with ${WORKERS} workers, and by the bare client (amqplib), which does nothing but acknowledge each message. The second half is measured. Both have a prefetch of ${PREFETCH}, run in processes of their own, and take turns, ${TURNS} each (with --quick ${QUICK_TURNS}). The broker shares the cores with them.`,
  pools: ['prefork'],
  variants: [
    { key: 'quorum', title: 'quorum queue', queueType: 'quorum', quick: true, maxRounds: 1 },
    { key: 'classic', title: 'classic queue', queueType: 'classic', maxRounds: 1 },
  ],
  metrics: {
    perSecond: { title: 'jobs of the node', unit: '/s', digits: 0, better: 'more' },
    clientPerSecond: { title: 'messages of the bare client', unit: '/s', digits: 0, better: 'more' },
    ratio: { title: 'node / client', unit: 'x', digits: 2, better: 'more' },
    nodeMicros: { title: "node's CPU for each job", unit: 'µs', digits: 1, better: 'less' },
    clientMicros: { title: "client's", unit: 'µs', digits: 1, better: 'less' },
  },
  timeout: 600,
  async measure({ variant, quick }) {
    const jobs = quick ? QUICK_JOBS : JOBS
    const nodes = []
    const clients = []
    for (let turn = 0; turn < (quick ? QUICK_TURNS : TURNS); turn++) {
      nodes.push(await drain('node', variant, jobs))
      clients.push(await drain('client', variant, jobs))
    }
    const perSecond = median(nodes.map((each) => each.perSecond))
    const clientPerSecond = median(clients.map((each) => each.perSecond))
    return {
      perSecond,
      clientPerSecond,
      ratio: perSecond / clientPerSecond,
      nodeMicros: median(nodes.map((each) => each.hostMicros)),
      clientMicros: median(clients.map((each) => each.hostMicros)),
    }
  },
}
