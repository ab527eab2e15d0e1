/** @import { Case, Variant } from '../types.js' */
import { inBursts, noopOf, warmUp } from '../lib/load.js'

/** @typedef {Variant & { jobs: number }} GrowthVariant */

/** @type {Case<GrowthVariant>} */
export default {
  name: 'growth',
  title: 'As the queue grows',
  about: 'So many no-ops are submitted at once and awaited, 2 workers; smaller bursts are repeated. The cost of a job must not depend on how many wait.',
  variants: [
    { key: '1e3', title: '1,000 queued', jobs: 1_000, quick: true, page: {} },
    { key: '1e4', title: '10,000', jobs: 10_000 },
    { key: '1e5', title: '100,000', jobs: 100_000, quick: true },
    { key: '1e6', title: '1,000,000', jobs: 1_000_000, maxRounds: 3, page: { pools: ['prefork', 'prefork-fast', 'piscina', 'poolifier', 'fork-json'] } },
  ],
  metrics: {
    perSecond: { title: 'jobs', unit: '/s', digits: 0, better: 'more' },
    hostMicros: { title: "host's CPU for each job", unit: 'µs', digits: 1, better: 'less' },
  },
  chart: [{ metric: 'perSecond', variant: '1e6' }],
  timeout: 180,
  quickTimeout: 60,
  async measure({ open, variant: { jobs } }) {
    const pool = await open({ workers: 2 })
    const noop = noopOf(pool)
    await warmUp(128, noop)
    const { perSecond, hostMicros } = await inBursts(jobs, noop)
    await pool.close()
    return { perSecond, hostMicros }
  },
}
