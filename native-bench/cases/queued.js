/** @import { Case, Variant } from '../types.js' */

import { noopOf, warmUp } from '../lib/load.js'
import { forgetPeak, peakMB, residentMB } from '../lib/memory.js'

/** @typedef {Variant & { jobs: number }} QueuedVariant */

/** @type {Case<QueuedVariant>} */
export default {
  name: 'queued',
  title: '100,000 calls at once',
  about:
    'All no-ops are submitted in one turn of the event loop, then awaited; 2 workers. Memory is that of the host process, for threads including the workers.',
  variants: [{ key: '100k', title: '100,000 no-ops', jobs: 100_000, quick: true, page: {} }],
  metrics: {
    ms: { title: 'all done after', unit: 'ms', digits: 0, better: 'less' },
    grownMB: { title: 'the host grew by', unit: 'MB', digits: 0, better: 'less' },
    peakMB: { title: "the host's peak", unit: 'MB', digits: 0, better: 'less' },
  },
  timeout: 120,
  async measure({ open, variant: { jobs } }) {
    const pool = await open({ workers: 2 })
    const noop = noopOf(pool)
    await warmUp(128, noop)
    forgetPeak()
    const before = residentMB()
    const began = performance.now()
    await Promise.all(Array.from({ length: jobs }, noop))
    const ms = performance.now() - began
    const peak = peakMB()
    await pool.close()
    return { ms, grownMB: Math.max(0, peak - before), peakMB: peak }
  },
}
