import { describe, expect, it } from 'vitest'
import { ShutdownDeadline } from '../../src/node/shutdown.js'
import { settled, startNode } from '../fixtures/nodes.js'
import { gone, Journal, Latch, until } from '../fixtures/support.js'

describe('a shutdown', () => {
  it('lets running jobs end, requeues jobs that have not started at once, and takes no more', async () => {
    const farm = await startNode({ prefetchPerWorker: 4, concurrency: 1 })
    const { node, server, broker } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('hold', [latch.path, journal.path, 'x'], { id: 'x' })
    await journal.seen('+x')
    for (const id of ['a', 'b', 'c', 'd']) server.add('mark', [journal.path, id], { id })
    await until('all are held', () => node.stats().held === 4)
    const pids = node.stats().workers.map(({ pid }) => pid!)
    const report = node.shutdown()
    expect(node.stats().state).toBe('draining')
    await until('three are back', () => server.ready.length === 4)
    latch.open()
    expect(await report).toEqual({ clean: true, requeued: 3, killed: 0 })
    expect(await node.done).toEqual({ clean: true, requeued: 3, killed: 0 })
    expect(server.acknowledged).toEqual(['x'])
    expect(journal.lines).toEqual(['+x', '-x'])
    expect(broker.closed).toBe(true)
    expect(broker.events.at(-1)).toMatchObject({ type: 'node.down', node: node.name })
    await gone(pids)
  })

  it('is logged with its grace, in whole milliseconds', async () => {
    const lines: [object, string][] = []
    const log = (details: object, message: string): void => void lines.push([details, message])
    const { node } = await startNode({ logger: { trace: log, debug: log, info: log, warn: log, error: log } })
    await node.shutdown({ grace: 10_000, reason: 'a test' })
    const [[details]] = lines.filter(([, message]) => message === 'node shuts down') as [[{ reason: string; grace: number }, string]]
    expect(details.reason).toBe('a test')
    expect(Number.isInteger(details.grace)).toBe(true)
  })

  it('kills the running jobs when the grace is over; they count as losses and are published again', async () => {
    const farm = await startNode()
    const { node, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('hold', [latch.path, journal.path, 'x'], { id: 'x' })
    server.add('holdSync', [latch.path, journal.path, 'y'], { id: 'y', counts: { losses: 2 } })
    await journal.seen('+x')
    await journal.seen('+y')
    expect(await node.shutdown({ grace: 50 })).toEqual({ clean: false, requeued: 0, killed: 2 })
    expect(server.republished).toMatchObject([
      { id: 'x', settlement: { counts: { attempt: 1, losses: 1, requeues: 0 }, history: [{ outcome: 'lost', error: expect.stringContaining('shut down') }] } },
    ])
    expect(server.dead).toMatchObject([{ message: { id: 'y' }, settlement: { reason: 'lost', error: { code: 'ERR_PREFORK_NODE_SHUTDOWN' } } }])
  })

  it('that is over before a start is reported counts started jobs as losses, and requeues the others', async () => {
    const farm = await startNode({ prefetchPerWorker: 8, concurrency: 4 })
    const journal = new Journal()
    const latch = new Latch()
    const ids = Array.from({ length: 8 }, (_, index) => farm.server.add('hold', [latch.path, journal.path, `h${index}`], { id: `h${index}` }))
    await until('some are held', () => farm.node.stats().held > 0)
    const { requeued, killed } = await farm.node.shutdown({ grace: 0 })
    const counted = farm.server.republished.map(({ id }) => id)
    // A job that was accepted and killed before its first line counts as started.
    expect(counted).toEqual(expect.arrayContaining(journal.lines.map((line) => line.slice(1))))
    expect(killed).toBe(counted.length)
    expect(requeued).toBe(ids.length - counted.length)
    expect(farm.server.ready.map(({ id }) => id).sort()).toEqual([...ids].sort())
  })

  it.each([
    [{ grce: 5 }, "Unknown option 'grce' of node.shutdown; did you mean 'grace'? It has: grace, reason, error."],
    [{ grace: '5s' }, "Option 'grace' must be a number of milliseconds"],
    [{ reason: 5 }, "Option 'reason' must be a string; it was given 5."],
    [{ error: 'gone' }, "Option 'error' must be an Error; it was given 'gone'."],
    [5, "Option 'options' must be an object; it was given 5."],
    [null, "Option 'options' must be an object; it was given null."],
  ])('does not begin with the options %j', async (options, message) => {
    const { node } = await startNode()
    const refused = await node.shutdown(options as never).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(TypeError)
    expect((refused as Error).message).toContain(message)
    expect(node.stats().state).toBe('running')
    expect(await node.shutdown({ grace: undefined, reason: undefined, error: undefined })).toEqual({ clean: true, requeued: 0, killed: 0 })
  })

  it('is shortened by a second call with less grace', async () => {
    const farm = await startNode()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    const first = farm.node.shutdown({ grace: 600_000 })
    expect(await farm.node.shutdown({ grace: 0 })).toEqual({ clean: false, requeued: 0, killed: 1 })
    expect(await first).toMatchObject({ killed: 1 })
  })

  it('sends heartbeats until its last job has ended', async () => {
    const farm = await startNode({ heartbeatInterval: 20 })
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    const report = farm.node.shutdown()
    await until('a heartbeat says that it drains', () =>
      farm.broker.events.some((event) => event.type === 'node.heartbeat' && event.stats.state === 'draining'),
    )
    latch.open()
    await report
    const types = farm.broker.events.map(({ type }) => type)
    expect(types.indexOf('node.down')).toBe(types.length - 1)
  })

  it('requeues a job that the broker cannot publish', async () => {
    const farm = await startNode()
    farm.server.refusing = true
    farm.server.add('fail', [], { id: 'x', maxAttempts: 1 })
    await until('its settlement is refused', () => farm.server.refusals > 0)
    await farm.node.shutdown()
    expect(farm.server.ready.map(({ id }) => id)).toEqual(['x'])
    expect(farm.server.dead).toEqual([])
  })

  it('ends although the broker cannot be reached', async () => {
    const farm = await startNode()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'x'], { id: 'x' })
    await journal.seen('+x')
    farm.broker.cut()
    latch.open()
    expect(await farm.node.shutdown()).toMatchObject({ clean: true, killed: 0 })
    expect(farm.server.ready.map(({ id }) => id)).toEqual(['x'])
  })
})

it('a rolling restart under load loses no job', async () => {
  const farm = await startNode({ minWorkers: 2, concurrency: 3 })
  const { node, server } = farm
  const ids: string[] = []
  const feeding = setInterval(() => ids.push(server.add('sleep', [5, 1])), 2)
  try {
    await until('some are done by two', () => server.acknowledged.length > 20 && node.stats().scale.alive === 2)
    const before = node.stats().workers.map(({ id }) => id)
    expect(await node.command({ command: 'restart' })).toEqual({ restarting: 2 })
    await until('all workers are others', () => {
      const { workers } = node.stats()
      return workers.length === 2 && workers.every(({ id, state }) => !before.includes(id) && state !== 'starting')
    })
  } finally {
    clearInterval(feeding)
  }
  await settled(farm)
  expect(server.acknowledged.sort()).toEqual(ids.sort())
  expect(node.stats().totals).toMatchObject({ lost: 0, failed: 0, retried: 0 })
})

it('the deadline of a shutdown can be brought forward, not put off', async () => {
  const deadline = new ShutdownDeadline(600_000)
  deadline.shorten(900_000)
  expect(deadline.left).toBeLessThanOrEqual(600_000)
  deadline.shorten(1)
  expect(deadline.left).toBeLessThanOrEqual(1)
  await deadline.expired
})
