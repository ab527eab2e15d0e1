// The server of the benchmark: that of FAKTORY_URL, or the stand-in of the tests in a process of its own.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { UsageError } from '../lib/args.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** @typedef {{ url: string, isReal: boolean, stop(): Promise<unknown> }} BenchServer */

/** @returns {Promise<BenchServer>} */
const startStandIn = async () => {
  const { bundle } = await import('../../scripts/bundle.js')
  const folder = mkdtempSync(join(root, 'node_modules', '.faktory-'))
  const file = join(folder, 'main.mjs')
  await bundle(root, 'test/fixtures/faktory-server/main.ts', file)
  const child = execa(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], buffer: false, reject: false, killSignal: 'SIGKILL' })
  const [line] = await once(child.stdout, 'data')
  return {
    url: JSON.parse(String(line)).url,
    isReal: false,
    stop: async () => {
      child.kill()
      await child
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** @returns {Promise<BenchServer>} */
export const startServer = async () => {
  const url = process.env.FAKTORY_URL
  if (url === undefined || url === '') return startStandIn()
  if (!URL.canParse(url) || new URL(url).password !== '' || new URL(url).protocol !== 'tcp:')
    throw new UsageError('FAKTORY_URL must be tcp://host:port without a password: the loop of FETCH and ACK that workers are compared with has none')
  return { url, isReal: true, stop: async () => {} }
}
