/** @import { Case, Variant } from '../types.js' */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkIdentity } from '../lib/load.js'
import { treeMB } from '../lib/memory.js'

const WORKERS = 4

/** @type {Case<Variant>} */
export default {
  name: 'idle',
  title: 'What idle workers cost',
  about: `${WORKERS} workers that have run a few hundred jobs and now have none. Memory is what the whole tree of processes has gained since before the pool, for each worker; CPU is the host's. For comparison: the CPU of the same process with one timer a second alone.`,
  variants: [{ key: '4w', title: `${WORKERS} idle workers`, quick: true, maxRounds: 3, page: {} }],
  metrics: {
    shareMB: { title: 'memory of a worker (PSS)', unit: 'MB', digits: 0, better: 'less' },
    residentMB: { title: 'resident memory of a worker', unit: 'MB', digits: 0, better: 'less' },
    hostPercent: { title: "host's CPU", unit: '% of a core', digits: 2, better: 'less' },
    timerPercent: { title: 'with a timer alone', unit: '% of a core', digits: 2, better: 'less' },
  },
  async measure({ open, quick }) {
    const seconds = quick ? 1 : 15
    const timer = setInterval(() => {}, 1_000)
    await sleep(1_000)
    const timerPercent = await share(seconds)
    clearInterval(timer)
    const before = treeMB()
    const pool = await open({ workers: WORKERS })
    await checkIdentity(pool)
    await sleep(1_000)
    const hostPercent = await share(seconds)
    const after = treeMB()
    await pool.close()
    return {
      shareMB: (after.share - before.share) / WORKERS,
      residentMB: (after.resident - before.resident) / WORKERS,
      hostPercent,
      timerPercent,
    }
  },
}

/** CPU of this idle process, in % of a core. @param {number} seconds */
const share = async (seconds) => {
  const before = process.cpuUsage()
  await sleep(seconds * 1_000)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / seconds / 10_000
}
