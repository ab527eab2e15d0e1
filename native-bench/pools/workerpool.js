/** @import { PoolModule } from '../types.js' */
import { fileURLToPath } from 'node:url'
import workerpool from 'workerpool'

/** @type {PoolModule['open']} */
export const open = ({ workers, binary }, workerType) => {
  const pool = workerpool.pool(fileURLToPath(new URL('./workers/workerpool.js', import.meta.url)), {
    minWorkers: workers,
    maxWorkers: workers,
    workerType,
    forkOpts: binary ? { serialization: 'advanced' } : {},
  })
  return { call: (task, value) => pool.exec(task, value === undefined ? [] : [value]), close: () => pool.terminate() }
}
