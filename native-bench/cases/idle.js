/** @import { Case, Variant } from '../types.js' */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkIdentity } from '../lib/load.js'
import { treeMB } from '../lib/memory.js'

const WORKERS = 4

/** @type {Case<Variant>} */
export default {
  name: 'idle',
  title: 'What idle workers cost',
  about: `${WORKERS} workers that have run a few hundred jobs and now have none. Memory is what the whole tree of processes has more than before the pool, for each worker; CPU is the host's.`,
  variants: [{ key: '4w', title: `${WORKERS} idle workers`, quick: true, maxRounds: 3 }],
  metrics: {
    shareMB: { title: 'memory of a worker (PSS)', unit: 'MB', digits: 0, better: 'less' },
    residentMB: { title: 'resident memory of a worker', unit: 'MB', digits: 0, better: 'less' },
    hostPercent: { title: "host's CPU", unit: '% of a core', digits: 2, better: 'less' },
  },
  async measure({ open, quick }) {
    const before = treeMB()
    const pool = await open({ workers: WORKERS })
    await checkIdentity(pool)
    await sleep(1_000)
    const seconds = quick ? 1 : 15
    const cpu = process.cpuUsage()
    await sleep(seconds * 1_000)
    const { user, system } = process.cpuUsage(cpu)
    const after = treeMB()
    await pool.close()
    return {
      shareMB: (after.share - before.share) / WORKERS,
      residentMB: (after.resident - before.resident) / WORKERS,
      hostPercent: (user + system) / seconds / 10_000,
    }
  },
}
