/** @import { Case, Variant } from '../types.js' */
import { checkIdentity, keepCalling, measuredSeconds, noopOf, warmUp } from '../lib/load.js'

/** @typedef {Variant & { workers: number, outstanding: number }} NoopVariant */

/** @type {NoopVariant[]} */
const variants = [2, 1, 4].flatMap((workers) =>
  [128, 1, 16, 1_024].map((outstanding) => ({
    key: `${workers}w-${outstanding}`,
    title: `${workers} worker${workers > 1 ? 's' : ''}, ${outstanding.toLocaleString('en')} outstanding`,
    workers,
    outstanding,
    ...(workers === 2 && outstanding === 128 ? { quick: true, page: { often: true } } : {}),
  })),
)

/** @type {Case<NoopVariant>} */
export default {
  name: 'noop',
  title: 'No-op throughput',
  about: 'Callers of a task that does nothing, each of which awaits its answer before it calls again. For threads, the CPU of the host includes the workers.',
  variants,
  metrics: {
    perSecond: { title: 'jobs', unit: '/s', digits: 0, better: 'more' },
    hostMicros: { title: "host's CPU for each job", unit: 'µs', digits: 1, better: 'less' },
  },
  async measure({ open, variant: { workers, outstanding }, quick }) {
    const measured = measuredSeconds(quick)
    const pool = await open({ workers })
    await warmUp(outstanding, noopOf(pool))
    const { perSecond, hostMicros } = await keepCalling({ outstanding, seconds: measured }, noopOf(pool))
    await checkIdentity(pool)
    await pool.close()
    return { perSecond, hostMicros }
  },
  floor: ({ workers, outstanding }, quick) => ({ mode: 'throughput', workers, outstanding, seconds: measuredSeconds(quick) }),
  fromFloor: ({ perSecond = Number.NaN, hostMicros = Number.NaN }) => ({ perSecond, hostMicros }),
}
