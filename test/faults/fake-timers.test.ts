/** A pool, a node and a queue in a test runner that fakes the timers of its process. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createPool } from 'prefork'
import { createPublisher, createWorker as createRabbitWorker, type FarmNode } from 'prefork/amqp'
import { createQueue, createWorker } from 'prefork/queue'
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isolatedTopology, newName, RABBITMQ_URL, removeQueues, withRabbit } from '../amqp/rabbit.js'
import { fixture, optionsOf, startPool, type Tasks, type TestPool } from '../fixtures/pools.js'
import { hasSqlite, StoreFile } from '../queue/store/sqlite/files.js'

/** All that vitest fakes in a child process: there `nextTick` stays real. */
const EVERYTHING = [
  ...(['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'] as const),
  ...(['queueMicrotask', 'hrtime', 'performance', 'Date'] as const),
]
const fake = (): void => void vi.useFakeTimers({ toFake: [...EVERYTHING] })
afterEach(() => void vi.useRealTimers())

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

/** The package, loaded anew. */
const loadCopy = async <M>(entry: string): Promise<M> => {
  const copy = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  const root = fileURLToPath(new URL('../../', import.meta.url))
  cpSync(`${root}dist`, `${copy}/dist`, { recursive: true })
  cpSync(`${root}package.json`, `${copy}/package.json`)
  return (await import(pathToFileURL(`${copy}/dist/${entry}`).href)) as M
}

describe('while the timers of the process are faked', () => {
  it('before prefork is loaded, a pool works, and goes on with real ones', async () => {
    fake()
    const loaded = await loadCopy<{ createPool: typeof createPool }>('index.js')
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

it('a worker whose task replaces the timers of its process goes on, and holds its limits', async () => {
  const pool = await startPool({ tasks: fixture('timer-tasks.js') })
  await pool.run('replaceTimers')
  expect(await pool.run('echo', [1])).toBe(1)
  await expect(pool.run('untilAborted', [], { softTimeLimit: 50 })).rejects.toThrow('soft time limit')
  await expect(pool.run('never', [], { timeLimit: 50 })).rejects.toThrow('its time limit')
})

const NODE = { tasks: fixture('farm-tasks.js'), minWorkers: 1, maxWorkers: 1, backoff: { kind: 'fixed', delay: 1 } } as const

/** Ends with the test. */
const ended = <T extends FarmNode>(node: T): T => {
  onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
  return node
}

describe.each(hasSqlite ? ['memory:', 'sqlite:'] : ['memory:'])('a queue in %s while timers are faked', (kind) => {
  it('stores, delays, retries and runs jobs, waits for their results, and closes', async () => {
    const file = new StoreFile()
    onTestFinished(() => file.remove())
    const store = kind === 'memory:' ? `memory:${newName()}` : `sqlite:${file.path}`
    fake()
    const node = ended(await createWorker({ ...NODE, store }))
    const queue = await createQueue({ store })
    onTestFinished(() => queue.close())
    expect(await (await queue.add('echo', [1])).result({ timeout: 30_000 })).toBe(1)
    const delayed = await queue.add('echo', [2], { delay: 50 })
    const failing = await queue.add('fail', ['twice'], { maxAttempts: 2 })
    await expect(failing.result()).rejects.toThrow('twice')
    // A store in memory takes the time of day from the program's `Date`.
    vi.advanceTimersByTime(50)
    expect(await delayed.result({ timeout: 30_000 })).toBe(2)
    expect(await node.shutdown({ grace: 30_000 })).toMatchObject({ clean: true })
    await queue.close()
  })
})

withRabbit('a node of RabbitMQ while timers are faked', () => {
  const { queue, controlExchange, eventExchange } = isolatedTopology()
  afterAll(() => removeQueues([queue], [controlExchange, eventExchange]))

  it('runs jobs, retries and delays them, answers calls, and drains', async () => {
    fake()
    const node = ended(await createRabbitWorker({ ...NODE, queue, url: RABBITMQ_URL, controlExchange, eventExchange }))
    const publisher = await createPublisher({ queue, url: RABBITMQ_URL })
    onTestFinished(() => publisher.close())
    expect(await publisher.call('echo', [1])).toBe(1)
    await expect(publisher.call('fail', ['twice'], { maxAttempts: 2 })).rejects.toThrow('twice')
    await expect(publisher.call('sleep', [60_000], { timeout: 50 })).rejects.toThrow('50 ms')
    expect(await node.shutdown({ grace: 100 })).toBeDefined()
    await publisher.close()
  })
})
