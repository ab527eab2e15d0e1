/** @import { Case, OpenPool, Variant } from '../types.js' */
import { check, keepCalling, warmUp } from '../lib/load.js'

const CALLERS = 16
const CRASH_EVERY = 1_000

/**
 * @param {OpenPool} pool
 * @param {number} seconds
 * @param {boolean} crashes
 */
const run = async (pool, seconds, crashes) => {
  let calls = 0
  let crashed = 0
  let rejected = 0
  const call = async () => {
    if (crashes && ++calls % CRASH_EVERY === 0) {
      const outcome = await pool.call('crash').then(
        () => 'answered',
        () => 'rejected',
      )
      check(outcome === 'rejected', 'a job that ended its worker was answered')
      crashed++
      return
    }
    const number = calls
    const answer = await pool.call('echo', number).catch(() => undefined)
    if (answer === undefined) rejected++
    else check(answer === number, "another call's answer")
  }
  await warmUp(CALLERS, call)
  rejected = 0
  crashed = 0
  const { perSecond } = await keepCalling({ outstanding: CALLERS, seconds }, call)
  return { perSecond, innocents: crashed > 0 ? rejected / crashed : 0 }
}

/** @type {Case<Variant>} */
export default {
  name: 'crash',
  title: 'A crash every 1,000 jobs',
  about: `Every ${CRASH_EVERY.toLocaleString('en')}th call ends its worker: SIGKILL for a process, process.exit() for a thread, where a signal would end the host. ${CALLERS} callers, 2 workers; "kept" is the throughput as a share of the same pool's without crashes.`,
  variants: [{ key: 'crash', title: 'one crash in 1,000', quick: true, page: {} }],
  metrics: {
    perSecond: { title: 'calls', unit: '/s', digits: 0, better: 'more' },
    kept: { title: 'kept', unit: '%', digits: 1, better: 'more' },
    innocents: { title: 'other calls rejected for each crash', unit: '', digits: 1, better: 'less' },
  },
  refuse: ({ replaces }) => (replaces ? undefined : 'does not replace what died'),
  async measure({ open, quick }) {
    const seconds = quick ? 1 : 4
    const uncrashed = await open({ workers: 2, varied: true })
    const without = await run(uncrashed, seconds / 2, false)
    await uncrashed.close()
    const pool = await open({ workers: 2, varied: true })
    const { perSecond, innocents } = await run(pool, seconds, true)
    await pool.close()
    return { perSecond, kept: (100 * perSecond) / without.perSecond, innocents }
  },
}
