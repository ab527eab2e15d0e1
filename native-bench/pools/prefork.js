/** @import { PoolModule } from '../types.js' */
import { setTimeout as sleep } from 'node:timers/promises'
import { createPool } from '../../dist/index.js'

/** @type {PoolModule['open']} */
export const open = async ({ workers, eager, jobsPerWorker, workerAge }, flavour) => {
  const pool = await createPool({
    tasks: new URL('../tasks.js', import.meta.url),
    workers,
    dispatch: flavour === 'adaptive' ? undefined : /** @type {'fast' | 'fair'} */ (flavour),
    maxJobsPerWorker: jobsPerWorker,
    maxAgePerWorker: workerAge,
  })
  // createPool resolves when the first worker is up.
  while (!eager && pool.stats().workers.filter(({ state }) => state === 'up').length < workers) await sleep(5)
  return { call: (task, value) => (value === undefined ? pool.run(task, []) : pool.run(task, [value])), close: () => pool.close() }
}
