/** @import { Case, Variant } from '../types.js' */
import { check } from '../lib/load.js'
import { quantile, seeded } from '../lib/statistics.js'

const CALLERS = 32
const BUSY_MS = 50
const BUSY_SHARE = 0.01
const LONG_MS = 5_000
/** A short call above this latency has waited for the long one, ms. */
const WAITED_MS = 2_000

/** @type {Case<Variant>} */
export default {
  name: 'mixed',
  title: 'Short calls among long ones',
  about: `${CALLERS} callers, 2 workers, one task: 99 % of the calls return at once, 1 % keep the worker busy for ${BUSY_MS} ms (the same sequence for each pool), and one takes ${LONG_MS / 1_000} s. The latencies are those of the calls that return at once.`,
  variants: [{ key: 'mixed', title: '99 % no-op, 1 % 50 ms, one of 5 s', quick: true, page: {} }],
  metrics: {
    p50: { title: 'p50 of the short', unit: 'ms', digits: 2, better: 'less' },
    p99: { title: 'p99 of the short', unit: 'ms', digits: 0, better: 'less' },
    most: { title: 'slowest of the short', unit: 'ms', digits: 0, better: 'less' },
    waited: { title: 'short calls that waited for the 5 s call', unit: '', digits: 0, better: 'less' },
    perSecond: { title: 'calls', unit: '/s', digits: 0, better: 'more' },
  },
  chart: [{ metric: 'p99', variant: 'mixed' }],
  async measure({ open }) {
    const pool = await open({ workers: 2, varied: true })
    const random = seeded(1)
    /** @type {number[]} */
    const took = []
    const call = async (/** @type {number} */ ms) => {
      const began = performance.now()
      check((await pool.call('busy', ms)) === ms, "another caller's answer")
      if (ms === 0) took.push(performance.now() - began)
    }
    const run = async (/** @type {number} */ seconds) => {
      const until = performance.now() + seconds * 1_000
      const caller = async () => {
        while (performance.now() < until) await call(random() < BUSY_SHARE ? BUSY_MS : 0)
      }
      await Promise.all(Array.from({ length: CALLERS }, caller))
    }
    await run(0.5)
    took.length = 0
    const began = performance.now()
    await run(1)
    await Promise.all([call(LONG_MS), run((LONG_MS + 1_000) / 1_000)])
    const seconds = (performance.now() - began) / 1_000
    await pool.close()
    const sorted = Float64Array.from(took).sort()
    return {
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      most: quantile(sorted, 1),
      waited: sorted.filter((ms) => ms > WAITED_MS).length,
      perSecond: took.length / seconds,
    }
  },
}
