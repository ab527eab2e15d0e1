/** @import { Case, Variant } from '../types.js' */
import { checkIdentity, keepCalling, measuredSeconds, noopOf, warmUp } from '../lib/load.js'
import { quantile } from '../lib/statistics.js'

/** @type {Case<Variant>} */
export default {
  name: 'rtt',
  title: 'Round trip',
  about: 'No-ops one at a time, 2 workers: from the call to the answer.',
  variants: [{ key: 'one', title: 'one at a time', quick: true, page: { often: true } }],
  metrics: {
    p50: { title: 'p50', unit: 'µs', digits: 0, better: 'less' },
    p99: { title: 'p99', unit: 'µs', digits: 0, better: 'less' },
    p999: { title: 'p99.9', unit: 'µs', digits: 0, better: 'less' },
  },
  async measure({ open, quick }) {
    const measured = measuredSeconds(quick, 2)
    const pool = await open({ workers: 2 })
    const noop = noopOf(pool)
    await warmUp(1, noop)
    /** @type {number[]} */
    const took = []
    await keepCalling({ outstanding: 1, seconds: measured }, async () => {
      const began = performance.now()
      await noop()
      took.push((performance.now() - began) * 1_000)
    })
    await checkIdentity(pool)
    await pool.close()
    const sorted = Float64Array.from(took).sort()
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), p999: quantile(sorted, 0.999) }
  },
  floor: (_, quick) => ({ mode: 'roundtrip', seconds: measuredSeconds(quick, 2) }),
  fromFloor: ({ p50 = Number.NaN, p99 = Number.NaN, p999 = Number.NaN }) => ({ p50, p99, p999 }),
}
