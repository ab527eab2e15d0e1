import { createPool } from '../../dist/index.js'

export const open = async ({ workers, ...options }) => {
  const pool = await createPool({ tasks: new URL('../tasks.js', import.meta.url), workers, ...options })
  return { noop: () => pool.run('noop', []), echo: (value) => pool.run('echo', [value]), close: () => pool.close() }
}
