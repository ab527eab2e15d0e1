/** A pool in a test runner that fakes the timers of its process. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createPool } from 'prefork'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { optionsOf, type Tasks, type TestPool } from '../fixtures/pools.js'

/** All that vitest fakes in a child process: there `nextTick` stays real. */
const EVERYTHING = [
  ...(['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'] as const),
  ...(['queueMicrotask', 'hrtime', 'performance', 'Date'] as const),
]
const fake = (): void => void vi.useFakeTimers({ toFake: [...EVERYTHING] })

/** What waits for a timer, a tick or the clock. */
const use = async (pool: Pick<TestPool, 'run' | 'map' | 'submit'>): Promise<void> => {
  expect(await pool.run('echo', [1])).toBe(1)
  const results: unknown[] = []
  for await (const result of pool.map('echo', [[1], [2]])) results.push(result)
  expect(results).toEqual([1, 2])
  await expect(pool.run('never', [], { timeLimit: 50 })).rejects.toThrow('its time limit')
  const job = pool.submit('sleep', [60_000])
  await job.accepted
  job.cancel(new Error('not needed'))
  await expect(job.result).rejects.toThrow('not needed')
}

describe('while the timers of the process are faked', () => {
  const copy = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  afterEach(() => void vi.useRealTimers())
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it('before prefork is loaded, a pool works, and goes on with real ones', async () => {
    const root = fileURLToPath(new URL('../../', import.meta.url))
    cpSync(`${root}dist`, `${copy}/dist`, { recursive: true })
    cpSync(`${root}package.json`, `${copy}/package.json`)
    fake()
    const loaded = (await import(pathToFileURL(`${copy}/dist/index.js`).href)) as { createPool: typeof createPool }
    const pool = await loaded.createPool<Tasks>(optionsOf())
    await use(pool)
    vi.useRealTimers()
    await use(pool)
    await pool.close()
  })

  it('before a pool is created, it works, and closes', async () => {
    fake()
    const pool = await createPool<Tasks>(optionsOf())
    await use(pool)
    await pool.close()
  })

  it('after a pool was created, it works, and closes with real ones', async () => {
    const pool = await createPool<Tasks>(optionsOf())
    fake()
    await use(pool)
    vi.useRealTimers()
    await pool.close()
  })
})
