import { fileURLToPath } from 'node:url'
import { FixedThreadPool } from 'poolifier'

export const open = async ({ workers }) => {
  const pool = new FixedThreadPool(workers, fileURLToPath(new URL('./poolifier-worker.js', import.meta.url)), { errorHandler: console.error })
  return { noop: () => pool.execute(undefined, 'noop'), echo: (value) => pool.execute(value, 'echo'), close: () => pool.destroy() }
}
