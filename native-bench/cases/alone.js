/** @import { Case, Variant } from '../types.js' */
import { check, keepCalling, warmUp } from '../lib/load.js'

/** @typedef {Variant & { warm: boolean }} AloneVariant */

const JOB_MS = 5
/** Of the calls before: some thousand of them are made. */
const WARM_JOB_MS = 0.5
/** 20,000 calls of that take 12 s and more: V8 of Node 24 needs them. */
const WARM_AT_MOST_SECONDS = 40

/** @type {Case<AloneVariant>} */
export default {
  name: 'alone',
  title: 'Jobs that come alone',
  about: `Jobs of ${JOB_MS} ms, one by one; 1 worker. After thousands of calls: until V8 has optimised the code, it costs several times as much.`,
  variants: [
    { key: 'warm', title: 'after thousands of calls', quick: true, warm: true, page: {} },
    { key: 'first', title: 'the first calls', warm: false },
  ],
  metrics: {
    hostMicros: { title: "host's CPU for each job", unit: 'µs', digits: 0, better: 'less' },
    tookMs: { title: 'from call to answer', unit: 'ms', digits: 2, better: 'less' },
  },
  refuse: ({ kind }) => (kind === 'threads' ? "the host's CPU includes its workers'" : undefined),
  async measure({ open, variant: { warm }, quick }) {
    const pool = await open({ workers: 1, varied: true })
    const callFor = (/** @type {number} */ ms) => async () => check((await pool.call('busy', ms)) === ms, 'the answer')
    if (warm) await warmUp(1, callFor(WARM_JOB_MS), WARM_AT_MOST_SECONDS)
    const { hostMicros, perSecond } = await keepCalling({ outstanding: 1, seconds: quick ? 1.5 : 4 }, callFor(JOB_MS))
    await pool.close()
    return { hostMicros, tookMs: 1_000 / perSecond }
  },
}
