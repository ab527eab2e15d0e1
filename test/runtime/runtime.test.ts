/** The runtime with a pool of the test's own. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { gzipSync } from 'node:zlib'
import { Runtime } from 'prefork/runtime'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FarmEventBody } from '../../src/runtime/report/report.js'
import { FIRST_DELIVERY, MemoryBroker, MemoryServer, storedMessage } from '../fixtures/memory-broker.js'
import { startNode } from '../fixtures/nodes.js'
import { fixture, sharedPool, startPool, type TestPool } from '../fixtures/pools.js'
import { Journal, Latch, until } from '../fixtures/support.js'

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

it('a job that was put back too often without a run is requeued, counted', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js'), maxPutBacks: 0, dispatch: 'fast', workers: 1 })
  const { server } = start(pool)
  const journal = new Journal()
  const latch = new Latch()
  server.add('holdSync', [latch.path, journal.path, 'culprit'], { retryLost: 0 })
  await journal.seen('+culprit')
  server.add('mark', [journal.path, 'victim'], { id: 'victim' })
  await until('it is written ahead', () => pool.stats().workers.some(({ running, writtenAhead }) => running === 1 && writtenAhead === 1))
  process.kill(pool.stats().workers[0]!.pid!, 'SIGKILL')
  await until('it is done in the end', () => server.acknowledged.includes('victim'))
  expect(server.republished).toMatchObject([{ id: 'victim', settlement: { counts: { attempt: 1, losses: 0, requeues: 1 } } }])
  expect(journal.lines).toEqual(['+culprit', 'victim'])
})

it('the runtime gives back the waiting jobs of a closed pool and counts its running ones as lost', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js') })
  const { server, broker } = start(pool)
  const journal = new Journal()
  const latch = new Latch()
  server.add('hold', [latch.path, journal.path, 'x'], { id: 'began' })
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

it('the runtime with a small memory forgets outcomes and runs such jobs again', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js') })
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

it('a broker whose keys never come back has no outcome remembered', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js') })
  const runtime = new Runtime(pool as never, { node: 'n', report: () => {} })
  const server = new MemoryServer()
  const broker = new MemoryBroker(server)
  broker.reconnect()
  broker.consume(50, (delivery) => runtime.receive(Object.assign(delivery, { comesOnce: true })))
  onTestFinished(() => server.close())
  const journal = new Journal()
  for (const acknowledged of [1, 2]) {
    server.add('mark', [journal.path, 'run'], { id: 'twice', redelivered: true })
    await until('it is acknowledged', () => server.acknowledged.length === acknowledged)
  }
  expect(journal.lines).toEqual(['run', 'run'])
  expect(runtime.stats.totals).toMatchObject({ recognised: 0, succeeded: 2 })
})

it('unpacked bodies are bounded together: the jobs of further ones wait, and go back when the node is paused', async () => {
  const { node, server, broker } = await startNode({ maxBodySize: 100_000, prefetchPerWorker: 50 })
  const journal = new Journal()
  const latch = new Latch()
  const ids = [...Array(9).keys()].map((i) => `packed ${i}`)
  for (const id of ids) {
    const plain = storedMessage(id, 'hold', [latch.path, journal.path, id, 'x'.repeat(95_000)], { contentEncoding: 'gzip' })
    server.store({ ...plain, body: gzipSync(plain.body) })
  }
  server.add('mark', [journal.path, 'plain'])
  await until('as many run as fit', () => journal.lines.length === 5)
  await until('all are held', () => broker.unsettled === 9)
  await node.command({ command: 'pause' })
  await until('the others went back', () => broker.unsettled === 4 && server.ready.length === 5)
  await node.command({ command: 'resume' })
  latch.open()
  await until('all are done', () => server.acknowledged.length === 10)
  let [open, most] = [0, 0]
  for (const line of journal.lines.filter((each) => each !== 'plain')) {
    open += line.startsWith('+') ? 1 : -1
    most = Math.max(most, open)
  }
  expect(most).toBe(4)
  expect(server.acknowledged.toSorted()).toEqual([...ids, 'm-1'].toSorted())
})

describe('the options of the runtime', () => {
  const shared = sharedPool({ watchdog: false, tasks: fixture('farm-tasks.js') })

  it.each([
    [{ maxLoss: 1 }, /did you mean 'maxLosses'/],
    [{ node: '' }, /Option 'node' must be a non-empty string/],
    [{ report: undefined }, /Option 'report' must be a function/],
  ])('%j are refused', async (options, message) => {
    const { pool } = shared
    expect(() => start(pool, options)).toThrow(message)
  })
})

it('the runtime removes its listeners from the pool when it is closed', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js') })
  const { runtime, events } = start(pool)
  runtime.close()
  await pool.run('echo', [1])
  expect(events).toEqual([])
})

it('the runtime makes no task events without a listener, and all of them from the first listener on', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js') })
  let listening = false
  const { server, events } = start(pool, { heard: () => listening, maxAttempts: 1 })
  const journal = new Journal()
  server.add('mark', [journal.path, 'x'], { id: 'unheard' })
  await until('it is done', () => server.acknowledged.includes('unheard'))
  server.add('failUntil', [99], { id: 'failed' })
  await until('it is dead', () => server.dead.length === 1)
  expect(events.map(({ type }) => type)).toEqual(['task.failed'])
  listening = true
  server.add('mark', [journal.path, 'y'], { id: 'heard' })
  await until('it is done', () => server.acknowledged.includes('heard'))
  expect(events.map(({ type }) => type)).toEqual(['task.failed', 'task.received', 'task.started', 'task.succeeded'])
})

it('the runtime settles, answers and reports in the async context of the delivery, for tracing', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js'), workers: 1 })
  const context = new AsyncLocalStorage<string>()
  const seen: [id: string, what: string, where: string | undefined][] = []
  const runtime = new Runtime(pool as never, {
    node: 'n',
    report: (event) => 'id' in event && seen.push([event.id, event.type, context.getStore()]),
  })
  const tasks: [id: string, task: string, args: unknown[]][] = [
    ['a', 'echo', [1]],
    ['b', 'failUntil', [99]],
  ]
  for (const [id, task, args] of tasks) {
    const { body, headers } = storedMessage(id, task, args, { maxAttempts: 1, replyTo: 'me' })
    const note = (what: string): void => void seen.push([id, what, context.getStore()])
    const settle = ({ kind }: { kind: string }) => {
      note(kind)
      return { settled: true, published: true }
    }
    context.run(`delivery of ${id}`, () =>
      runtime.receive({ ...FIRST_DELIVERY, id, body, headers, gone: new AbortController().signal, settle, reply: async () => note('answer') }),
    )
  }
  await runtime.empty()
  await until('both are settled', () => ['acknowledge', 'dead-letter'].every((kind) => seen.some(([, what]) => what === kind)))
  const expected = {
    a: ['task.received', 'task.started', 'answer', 'acknowledge', 'task.succeeded'],
    b: ['task.received', 'task.started', 'answer', 'dead-letter', 'task.failed'],
  }
  for (const [id, what] of Object.entries(expected)) expect(seen.filter(([of]) => of === id)).toEqual(what.map((each) => [id, each, `delivery of ${id}`]))
})
