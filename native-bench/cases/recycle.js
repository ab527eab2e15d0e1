/** @import { Case, OpenOptions, OpenPool, Variant } from '../types.js' */
import { check, keepCalling, warmUp } from '../lib/load.js'

/** @typedef {Variant & { ms: number, seconds: number }} RecycleVariant */

const CALLERS = 16

/**
 * @param {OpenPool} pool
 * @param {number} ms
 * @param {number} seconds
 */
const throughput = async (pool, ms, seconds) => {
  const call = async () => check((await pool.call('busy', ms)) === ms, "another call's answer")
  await warmUp(CALLERS, call)
  const { perSecond } = await keepCalling({ outstanding: CALLERS, seconds }, call)
  await pool.close()
  return perSecond
}

/** @type {Case<RecycleVariant>} */
export default {
  name: 'recycle',
  title: 'A new worker every 100 jobs',
  about: `Workers are replaced after 100 jobs; "kept" is the throughput as a share of the same pool's without replacement. ${CALLERS} callers, 2 workers.`,
  variants: [
    { key: '10ms', title: 'jobs of 10 ms', ms: 10, seconds: 6, quick: true, page: {} },
    { key: '0ms', title: 'no-ops', ms: 0, seconds: 4, page: {} },
  ],
  metrics: {
    perSecond: { title: 'jobs', unit: '/s', digits: 0, better: 'more' },
    kept: { title: 'kept', unit: '%', digits: 1, better: 'more' },
  },
  chart: [{ metric: 'kept', variant: '10ms' }],
  refuse: ({ recycles }) => (recycles ? undefined : 'does not replace workers by count'),
  async measure({ open, variant: { ms, seconds }, quick }) {
    /** @param {OpenOptions} options */
    const measured = async (options) => throughput(await open(options), ms, quick ? 1 : seconds)
    const without = await measured({ workers: 2, varied: true })
    const perSecond = await measured({ workers: 2, varied: true, jobsPerWorker: 100 })
    return { perSecond, kept: (100 * perSecond) / without }
  },
}
