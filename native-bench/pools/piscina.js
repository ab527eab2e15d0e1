/** @import { PoolModule } from '../types.js' */
import { Piscina } from 'piscina'

/** @type {PoolModule['open']} */
export const open = ({ workers, varied }) => {
  const pool = new Piscina({
    filename: new URL('../tasks.js', import.meta.url).href,
    minThreads: workers,
    maxThreads: workers,
    concurrentTasksPerWorker: varied ? 1 : 128,
  })
  return { call: (task, value) => pool.run(value, { name: task }), close: () => pool.destroy() }
}
