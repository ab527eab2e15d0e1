import { Piscina } from 'piscina'

export const open = async ({ workers }) => {
  const pool = new Piscina({ filename: new URL('../tasks.js', import.meta.url).href, minThreads: workers, maxThreads: workers })
  return { noop: () => pool.run(undefined, { name: 'noop' }), echo: (value) => pool.run(value, { name: 'echo' }), close: () => pool.destroy() }
}
