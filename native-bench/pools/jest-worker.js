/** @import { PoolModule } from '../types.js' */
import { fileURLToPath } from 'node:url'
import { Worker } from 'jest-worker'

/** @type {PoolModule['open']} */
export const open = async ({ workers }, flavour) => {
  const pool = new Worker(fileURLToPath(new URL('../tasks.js', import.meta.url)), {
    numWorkers: workers,
    exposedMethods: ['noop', 'echo', 'busy', 'crash'],
    enableWorkerThreads: flavour === 'threads',
  })
  await pool.start()
  const methods = /** @type {Record<string, (value?: unknown) => Promise<unknown>>} */ (/** @type {unknown} */ (pool))
  return { call: (task, value) => methods[task]?.(value) ?? Promise.reject(new Error(`no task ${task}`)), close: () => pool.end() }
}
