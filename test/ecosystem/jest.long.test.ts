/** A pool under jest, whose fake timers replace the globals and the `process` of a test. */
import { beforeAll, expect, it } from 'vitest'
import { INSTALL_TIMEOUT, installPackages, projectOf } from './packages.js'

beforeAll(installPackages, INSTALL_TIMEOUT)

const TASKS = `export const echo = (value) => value
export const never = () => new Promise(() => {})
`
const TESTS = `import { jest } from '@jest/globals'

const use = async (pool) => {
  expect(await pool.run('echo', [1])).toBe(1)
  await expect(pool.run('never', [], { timeLimit: 50 })).rejects.toThrow('its time limit')
}
const start = async () => (await import('prefork')).createPool({ tasks: new URL('./tasks.js', import.meta.url), workers: 1 })

// The first test imports prefork.
test('faked before prefork is imported', async () => {
  jest.useFakeTimers()
  const pool = await start()
  await use(pool)
  jest.useRealTimers()
  await use(pool)
  await pool.close()
})
test('faked before createPool', async () => {
  jest.useFakeTimers()
  const pool = await start()
  await use(pool)
  await pool.close()
  jest.useRealTimers()
})
test('faked after createPool', async () => {
  const pool = await start()
  jest.useFakeTimers()
  await use(pool)
  jest.useRealTimers()
  await use(pool)
  await pool.close()
})
test('a queue in memory', async () => {
  jest.useFakeTimers()
  const { createQueue, createWorker } = await import('prefork/queue')
  const node = await createWorker({ store: 'memory:jest', tasks: new URL('./tasks.js', import.meta.url), maxWorkers: 1 })
  const queue = await createQueue({ store: 'memory:jest' })
  const job = await queue.add('echo', [1])
  expect(await job.result()).toBe(1)
  await node.shutdown()
  await queue.close()
  jest.useRealTimers()
})
`

it('works while its fake timers are on', async () => {
  const { node } = await projectOf(['jest'], { 'tasks.js': TASKS, 'timers.test.js': TESTS })
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--runInBand', '--cache=false', '--testTimeout=40000']
  const { output, code } = await node(jest)
  expect(output).toContain('Tests:       4 passed, 4 total')
  expect(code, output).toBe(0)
}, 150_000)
