/** @import { PoolModule } from '../types.js' */
import { Tinypool } from 'tinypool'

/** @type {PoolModule['open']} */
export const open = ({ workers, varied, binary }, runtime) => {
  const ahead = runtime === 'worker_threads' ? 8 : 128
  const pool = new Tinypool({
    filename: new URL('../tasks.js', import.meta.url).href,
    runtime,
    minThreads: workers,
    maxThreads: workers,
    concurrentTasksPerWorker: varied ? 1 : ahead,
    serialization: binary ? 'advanced' : 'json',
  })
  return { call: (task, value) => pool.run(value, { name: task }), close: () => pool.destroy() }
}
