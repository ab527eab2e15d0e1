/** @import { PoolModule } from '../types.js' */
import { fileURLToPath } from 'node:url'
import { FixedThreadPool } from 'poolifier'

/** @type {PoolModule['open']} */
export const open = ({ workers, varied }) => {
  const pool = new FixedThreadPool(workers, fileURLToPath(new URL('./workers/poolifier.js', import.meta.url)), {
    enableEvents: false,
    // Errors reach the caller as rejections.
    errorHandler: () => {},
    ...(varied ? { enableTasksQueue: true, tasksQueueOptions: { concurrency: 1, taskStealing: true, tasksStealingOnBackPressure: true } } : {}),
  })
  return { call: (task, value) => pool.execute(value, task), close: () => pool.destroy() }
}
