/** @import { Case, Variant } from '../types.js' */
import { drain } from '../farm/drain.js'
import { PREFETCH, WORKERS } from '../farm/plan.js'

/** @import { Drained } from '../farm/drain.js' */
/** @typedef {Variant & { queueType: 'quorum' | 'classic' }} FarmVariant */

const JOBS = 80_000
const QUICK_JOBS = 60_000
/** The consumers alternate, so that a disturbance of the machine affects all. */
const TURNS = 5
const QUICK_TURNS = 3

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** @type {Case<FarmVariant>} */
export default {
  name: 'farm',
  title: 'No-ops from RabbitMQ',
  about: `A queue of ${JOBS.toLocaleString('en')} no-ops (with --quick ${QUICK_JOBS.toLocaleString('en')}), whose arguments differ, is emptied by the command \`prefork work\` with ${WORKERS} workers and its log in a pipe, by \`createWorker\` without a logger, and by the bare client (amqplib with its defaults), which does nothing but acknowledge each message. The second half is measured. All have a prefetch of ${PREFETCH}, run in processes of their own, and take turns, ${TURNS} each (with --quick ${QUICK_TURNS}). The broker shares the cores with them.`,
  pools: ['prefork'],
  variants: [
    { key: 'quorum', title: 'quorum queue', queueType: 'quorum', quick: true, maxRounds: 1, page: {} },
    { key: 'classic', title: 'classic queue', queueType: 'classic', quick: true, maxRounds: 1, page: {} },
  ],
  metrics: {
    perSecond: { title: 'jobs of prefork work', unit: '/s', digits: 0, better: 'more' },
    libraryPerSecond: { title: 'jobs of createWorker', unit: '/s', digits: 0, better: 'more' },
    clientPerSecond: { title: 'messages of the bare client', unit: '/s', digits: 0, better: 'more' },
    ratio: { title: 'prefork work / client', unit: 'x', digits: 2, better: 'more' },
    libraryRatio: { title: 'createWorker / client', unit: 'x', digits: 2, better: 'more' },
    nodeMicros: { title: "CPU of prefork work's node for each job", unit: 'µs', digits: 1, better: 'less' },
    workerMicros: { title: 'of its workers', unit: 'µs', digits: 1, better: 'less' },
    libraryMicros: { title: "createWorker's", unit: 'µs', digits: 1, better: 'less' },
    clientMicros: { title: "client's", unit: 'µs', digits: 1, better: 'less' },
  },
  timeout: 900,
  async measure({ variant: { queueType }, quick }) {
    const jobs = quick ? QUICK_JOBS : JOBS
    /** @type {Record<'command' | 'node' | 'client', Drained[]>} */
    const turns = { command: [], node: [], client: [] }
    for (let turn = 0; turn < (quick ? QUICK_TURNS : TURNS); turn++)
      for (const name of /** @type {const} */ (['command', 'node', 'client'])) turns[name].push(await drain(name, queueType, jobs))
    const perSecond = median(turns.command.map((each) => each.perSecond))
    const libraryPerSecond = median(turns.node.map((each) => each.perSecond))
    const clientPerSecond = median(turns.client.map((each) => each.perSecond))
    return {
      perSecond,
      libraryPerSecond,
      clientPerSecond,
      ratio: perSecond / clientPerSecond,
      libraryRatio: libraryPerSecond / clientPerSecond,
      nodeMicros: median(turns.command.map((each) => each.micros)),
      workerMicros: median(turns.command.map((each) => each.workerMicros)),
      libraryMicros: median(turns.node.map((each) => each.micros)),
      clientMicros: median(turns.client.map((each) => each.micros)),
    }
  },
}
