/** The runtime with a pool of its own making. */
import { Runtime } from 'prefork/runtime'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FarmEventBody } from '../../src/runtime/report.js'
import { MemoryBroker, MemoryServer } from '../fixtures/memory-broker.js'
import { fixture, startPool, type TestPool } from '../fixtures/pools.js'
import { Gate, Journal, until } from '../fixtures/support.js'

const start = (pool: TestPool, options: object = {}) => {
  const events: FarmEventBody[] = []
  const runtime = new Runtime(pool as never, { node: 'n', report: (event) => events.push(event), ...options })
  const server = new MemoryServer()
  const broker = new MemoryBroker(server)
  broker.reconnect()
  broker.consume(50, (delivery) => runtime.receive(delivery))
  onTestFinished(() => server.close())
  return { runtime, server, broker, events }
}

it('a job put back too often without having begun goes to the queue again, counted', async () => {
  const pool = await startPool({ tasks: fixture('farm-tasks.js'), maxPutBacks: 0, dispatch: 'fast', workers: 1 })
  const { server } = start(pool)
  const journal = new Journal()
  const gate = new Gate()
  server.add('holdSync', [gate.path, journal.path, 'culprit'], { retryLost: 0 })
  await journal.seen('+culprit')
  server.add('mark', [journal.path, 'victim'], { id: 'victim' })
  await until('it is written ahead', () => pool.stats().workers.some(({ running, writtenAhead }) => running === 1 && writtenAhead === 1))
  process.kill(pool.stats().workers[0]!.pid!, 'SIGKILL')
  await until('it is done in the end', () => server.acknowledged.includes('victim'))
  expect(server.republished).toMatchObject([{ id: 'victim', settlement: { counts: { attempt: 1, losses: 0, requeues: 1 } } }])
  expect(journal.lines).toEqual(['+culprit', 'victim'])
})

it('what the closed pool had not begun is given back, what it had counts as a loss', async () => {
  const pool = await startPool({ tasks: fixture('farm-tasks.js') })
  const { server, broker } = start(pool)
  const journal = new Journal()
  const gate = new Gate()
  server.add('hold', [gate.path, journal.path, 'x'], { id: 'began' })
  await journal.seen('+x')
  server.add('mark', [journal.path, 'y'], { id: 'waited' })
  await until('both are held', () => broker.unsettled === 2)
  broker.consume(1, () => {})
  await pool.terminate()
  await until('both are settled', () => broker.unsettled <= 1 && server.republished.length === 1)
  expect(server.republished).toMatchObject([{ id: 'began', settlement: { counts: { losses: 1 } } }])
  expect(server.acknowledged).toEqual([])
  expect(journal.lines).toEqual(['+x'])
})

it('a memory of few forgets, and runs again what it has forgotten', async () => {
  const pool = await startPool({ tasks: fixture('farm-tasks.js') })
  const { server, runtime } = start(pool, { memory: 2 })
  const journal = new Journal()
  for (const id of ['a', 'b', 'c', 'd', 'e', 'a', 'e']) {
    const before = server.acknowledged.length
    server.add('mark', [journal.path, id], { id, redelivered: true })
    await until('it is acknowledged', () => server.acknowledged.length > before)
  }
  expect(journal.lines).toEqual(['a', 'b', 'c', 'd', 'e', 'a'])
  expect(runtime.stats.totals).toMatchObject({ recognised: 1, succeeded: 6 })
})

describe('its options', () => {
  it.each([
    [{ maxLoss: 1 }, /did you mean 'maxLosses'/],
    [{ node: '' }, /Option 'node' must be a non-empty string/],
    [{ report: undefined }, /Option 'report' must be a function/],
  ])('%j are refused', async (options, message) => {
    const pool = await startPool({ tasks: fixture('farm-tasks.js') })
    expect(() => start(pool, options)).toThrow(message)
  })
})

it('lets go of the pool when it is closed', async () => {
  const pool = await startPool({ tasks: fixture('farm-tasks.js') })
  const { runtime, events } = start(pool)
  runtime.close()
  await pool.run('echo', [1])
  expect(events).toEqual([])
})
