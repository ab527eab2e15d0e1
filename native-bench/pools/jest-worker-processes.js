import { fileURLToPath } from 'node:url'
import { Worker } from 'jest-worker'

export const open = async ({ workers }) => {
  const pool = new Worker(fileURLToPath(new URL('../tasks.js', import.meta.url)), { numWorkers: workers, exposedMethods: ['noop', 'echo'] })
  await pool.start?.()
  return { noop: () => pool.noop(), echo: (value) => pool.echo(value), close: () => pool.end() }
}
