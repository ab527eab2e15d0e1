// What a large backlog costs: the same operations on a small and a large queue, by turns in one process.
import { SqliteStore } from '../../../dist/queue/store/sqlite/sqlite-store.js'
import { quantile } from '../../lib/statistics.js'
import { fileIn, fill, largeArgsOf, QUEUE } from '../jobs.js'

/** @import { Context, QueueCase, Size } from '../types.js' */

/** Jobs that wait. @type {Record<Size, { small: number, large: number, warm: number, turns: number }>} */
const PLAN = {
  smoke: { small: 500, large: 5_000, warm: 2, turns: 5 },
  short: { small: 10_000, large: 200_000, warm: 20, turns: 100 },
  full: { small: 10_000, large: 1_000_000, warm: 50, turns: 300 },
}
const CLAIMED = 64
const COMPLETED = /** @type {const} */ ({ as: 'completed', answer: new Uint8Array([0xd4, 0, 0]) })

/** @param {string} file @param {number} jobs */
const openBacklog = async (file, jobs) => {
  const queue = await fill(file, jobs, largeArgsOf)
  const store = new SqliteStore(file)
  await store.open()
  const session = await store.openSession({ name: 'bench', schedulers: true })
  let { jobs: held } = await session.claim([QUEUE], CLAIMED)
  /** @type {{ turn: number[], counts: number[], depth: number[] }} */
  const times = { turn: [], counts: [], depth: [] }
  /** @param {number[]} list @param {() => Promise<unknown>} ask */
  const timed = async (list, ask) => {
    const began = performance.now()
    await ask()
    list.push(performance.now() - began)
  }
  let added = jobs
  return {
    times,
    turn: async () => {
      await timed(times.turn, async () => {
        const settled = held.map((job) => session.settle(job, COMPLETED))
        const next = session.claim([QUEUE], CLAIMED)
        await Promise.all(settled)
        held = (await next).jobs
      })
      if (held.length < CLAIMED) throw new Error('the backlog is empty')
      await timed(times.counts, () => queue.counts())
      // As a node asks for it.
      await timed(times.depth, () => Promise.all([store.counts([QUEUE]), store.queue(QUEUE)]))
      await queue.addBulk(Array.from({ length: CLAIMED }, () => ({ task: 'noop', args: largeArgsOf(added++) })))
    },
    close: async () => {
      await session.close()
      await Promise.all([store.close(), queue.close()])
    },
  }
}

/** @param {number[]} times @param {number} q */
const at = (times, q) =>
  quantile(
    [...times].sort((a, b) => a - b),
    q,
  )

/** @param {Context} context */
const measure = async ({ folder, size }) => {
  const plan = PLAN[size]
  const small = await openBacklog(fileIn(folder, 'small.db'), plan.small)
  const large = await openBacklog(fileIn(folder, 'large.db'), plan.large)
  const turns = async (/** @type {number} */ count) => {
    for (let n = 0; n < count; n++) {
      await small.turn()
      await large.turn()
    }
  }
  await turns(plan.warm)
  for (const { times } of [small, large]) for (const list of Object.values(times)) list.length = 0
  await turns(plan.turns)
  await small.close()
  await large.close()
  return {
    small: at(small.times.turn, 0.5),
    large: at(large.times.turn, 0.5),
    ratio: at(large.times.turn, 0.5) / at(small.times.turn, 0.5),
    counts: at(large.times.counts, 0.5),
    depth: at(large.times.depth, 0.5),
    jobs: plan.large,
  }
}

const TIME = /** @type {const} */ ({ unit: 'ms', digits: 2, better: 'less' })

/** @type {QueueCase} */
export const backlog = {
  title: 'A backlog',
  about: 'Settle 64 and claim 64, in one transaction, with few and with many jobs of 295 bytes that wait; medians of the turns.',
  timeout: 400,
  maxRounds: 1,
  variants: { store: { title: 'the store', measure } },
  metrics: {
    small: { title: 'few', ...TIME },
    large: { title: 'many', ...TIME },
    ratio: { title: 'ratio', unit: '', digits: 2, better: 'less' },
    counts: { title: 'counts() of many', ...TIME },
    depth: { title: 'depth of many', ...TIME },
    jobs: { title: 'many are', unit: '', digits: 0, better: 'more' },
  },
}
