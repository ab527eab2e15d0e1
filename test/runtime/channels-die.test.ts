import { describe, expect, it } from 'vitest'
import { settled, sharedNode, startNode, type TestNode } from '../fixtures/nodes.js'
import { Journal, Latch, until } from '../fixtures/support.js'

const shared = sharedNode({ unknownTask: 'dead-letter' })
const oneByOne = sharedNode({ prefetchPerWorker: 6, concurrency: 1 })

describe('when the channel of a delivery is closed', () => {
  it('the runtime keeps a begun job and acknowledges its redelivery without a second run', async () => {
    const farm = await shared()
    const { broker, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    const id = server.add('hold', [latch.path, journal.path, 'x'], { replyTo: 'me' })
    await journal.seen('+x')
    broker.cut()
    latch.open()
    await journal.seen('-x')
    await until('its outcome is known', () => farm.node.stats().totals.refused === 1)
    expect(farm.node.stats().totals.succeeded).toBe(0)
    expect(server.replies).toEqual([])
    broker.reconnect()
    await settled(farm)
    expect(server.acknowledged).toEqual([id])
    expect(server.replies).toMatchObject([{ id, ok: true }])
    expect(journal.lines).toEqual(['+x', '-x'])
    expect(farm.node.stats().totals).toMatchObject({ received: 2, succeeded: 1, recognised: 1 })
  })

  it('the runtime does not run a redelivered job twice while it runs', async () => {
    const farm = await shared()
    const { broker, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    const id = server.add('hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    broker.cut()
    broker.reconnect()
    await until('it is delivered again', () => farm.node.stats().totals.received === 2)
    await until('it runs on', () => farm.node.stats().running === 1)
    expect(farm.node.stats().held).toBe(1)
    latch.open()
    await settled(farm)
    expect(server.acknowledged).toEqual([id])
    expect(journal.lines).toEqual(['+x', '-x'])
  })

  it('the runtime publishes a known failure once, with the redelivery', async () => {
    const farm = await shared()
    const { broker, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('holdThenFail', [latch.path, journal.path, 'x'], { maxAttempts: 2 })
    await journal.seen('+x')
    broker.cut()
    latch.open()
    await until('its outcome is known', () => farm.node.stats().totals.refused === 1)
    broker.reconnect()
    await settled(farm)
    expect(server.republished).toHaveLength(1)
    expect(server.dead).toHaveLength(1)
    expect(journal.lines).toEqual(['+x', '+x'])
  })

  it('the runtime does not repeat a republication that was stored before its acknowledgement was lost', async () => {
    const farm = await shared()
    const { broker, server } = farm
    broker.losesAcknowledgements = true
    const id = server.add('failUntil', [2])
    await until('the connection is lost', () => !broker.connected)
    broker.losesAcknowledgements = false
    broker.reconnect()
    await settled(farm)
    expect(server.republished).toHaveLength(1)
    expect(server.acknowledged).toEqual([id, id])
    expect(farm.node.stats().totals).toMatchObject({ recognised: 1, succeeded: 1 })
  })

  it('the runtime never begins a waiting job for it, and runs the redelivered job once', async () => {
    const farm = await oneByOne()
    const { broker, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('hold', [latch.path, journal.path, 'first'], { id: 'first' })
    await journal.seen('+first')
    const ids = Array.from({ length: 5 }, (_, index) => server.add('mark', [journal.path, `m${index}`]))
    await until('all are held', () => farm.node.stats().held === 6)
    broker.cut()
    await until('only the running one is left', () => farm.node.snapshot().tasks.length === 1)
    latch.open()
    await journal.seen('-first')
    expect(journal.lines).toEqual(['+first', '-first'])
    broker.reconnect()
    await settled(farm)
    expect(server.acknowledged.sort()).toEqual(['first', ...ids].sort())
    expect(journal.lines.slice(2).sort()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'])
  })

  it('the runtime runs a job once that is redelivered before it could be taken back', async () => {
    const farm = await oneByOne()
    const { broker, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('hold', [latch.path, journal.path, 'first'])
    await journal.seen('+first')
    for (let index = 0; index < 5; index++) server.add('mark', [journal.path, `m${index}`])
    await until('all are held', () => farm.node.stats().held === 6)
    broker.cut()
    broker.reconnect()
    await until('all are held again', () => farm.node.stats().totals.received === 12 && farm.node.stats().running === 1)
    expect(farm.node.stats().held).toBe(6)
    latch.open()
    await settled(farm)
    expect(server.acknowledged).toHaveLength(6)
    expect(journal.lines.slice(0, 2)).toEqual(['+first', '-first'])
    expect(journal.lines.slice(2).sort()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'])
  })

  it('repeatedly under load, the runtime loses no job and runs no waiting job for it', async () => {
    const farm = await startNode({ minWorkers: 2, prefetchPerWorker: 10, concurrency: 3 })
    const { broker, server } = farm
    const journal = new Journal()
    const ids = Array.from({ length: 300 }, (_, index) => server.add('sleepThenMark', [index % 7, journal.path, `j${index}`]))
    for (let cuts = 1; cuts <= 12; cuts++) {
      const before = server.acknowledged.length
      await until('some are done', () => server.acknowledged.length >= Math.min(ids.length, before + 10))
      broker.cut()
      if (cuts % 3 === 0) await until('what runs has ended', () => farm.node.stats().running === 0)
      broker.reconnect()
    }
    await settled(farm)
    expect(new Set(server.acknowledged)).toEqual(new Set(ids))
    // One node remembers all outcomes.
    expect(journal.lines).toHaveLength(ids.length)
    expect(server.dead).toEqual([])
  })

  it('the runtime recognises no job without a message id: it runs again', async () => {
    const farm = await shared()
    const { broker, server } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('hold', [latch.path, journal.path, 'x'], { id: null })
    await journal.seen('+x')
    broker.cut()
    latch.open()
    await until('its outcome is known', () => farm.node.stats().totals.refused === 1)
    broker.reconnect()
    await settled(farm)
    expect(journal.lines).toEqual(['+x', '-x', '+x', '-x'])
    expect(farm.node.stats().totals).toMatchObject({ recognised: 0, refused: 1, succeeded: 1 })
  })
})

describe('a message with an id that was used before', () => {
  const endings: [string, (farm: TestNode) => void, object][] = [
    ['succeeded', ({ server }) => server.add('echo', [1], { id: 'used' }), { succeeded: 2 }],
    ['went to the dead letters', ({ server }) => server.add('fail', [], { id: 'used', maxAttempts: 1 }), { succeeded: 1, deadLettered: 1 }],
    ['had expired', ({ server }) => server.add('echo', [1], { id: 'used', expiresAt: 1 }), { succeeded: 1, deadLettered: 1 }],
    ['named no task', ({ server }) => server.add('nosuch', [], { id: 'used' }), { succeeded: 1, deadLettered: 1 }],
  ]
  it.each(endings)('runs, though the earlier one %s', async (_, add, totals) => {
    const farm = await shared()
    const journal = new Journal()
    add(farm)
    await until('the earlier one has ended', () => farm.server.dead.length + farm.server.acknowledged.length === 1)
    farm.server.add('mark', [journal.path, 'new'], { id: 'used' })
    await settled(farm)
    expect(journal.lines).toEqual(['new'])
    expect(farm.node.stats().totals).toMatchObject({ recognised: 0, ...totals })
  })

  it('replaces the earlier outcome: its own redelivery is recognised', async () => {
    const farm = await shared()
    const { server } = farm
    const journal = new Journal()
    for (const [index, redelivered] of [false, false, true].entries()) {
      server.add('mark', [journal.path, `x${index}`], { id: 'used', redelivered })
      await until('it is acknowledged', () => server.acknowledged.length === index + 1)
    }
    expect(journal.lines).toEqual(['x0', 'x1'])
    expect(farm.node.stats().totals).toMatchObject({ recognised: 1, succeeded: 2 })
  })

  it('counts as the earlier one if the broker does not report redeliveries', async () => {
    const farm = await shared()
    const { server } = farm
    const journal = new Journal()
    for (const index of [0, 1]) {
      server.add('mark', [journal.path, `x${index}`], { id: 'used twice', redelivered: undefined })
      await until('it is acknowledged', () => server.acknowledged.length === index + 1)
    }
    expect(journal.lines).toEqual(['x0'])
  })

  it('waits for the running one, and then runs', async () => {
    const farm = await shared()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'x'], { id: 'twice' })
    await journal.seen('+x')
    farm.server.add('mark', [journal.path, 'y'], { id: 'twice' })
    await until('both are delivered', () => farm.node.stats().totals.received === 2)
    latch.open()
    await settled(farm)
    expect(journal.lines).toEqual(['+x', '-x', 'y'])
    expect(farm.server.acknowledged).toEqual(['twice', 'twice'])
  })

  it('runs too when both are redelivered, as a redelivery cannot be assigned to one of them', async () => {
    const farm = await shared()
    const { broker, server, node } = farm
    const journal = new Journal()
    const latch = new Latch()
    server.add('hold', [latch.path, journal.path, 'x'], { id: 'twice' })
    await journal.seen('+x')
    server.add('mark', [journal.path, 'y'], { id: 'twice' })
    await until('both are delivered', () => node.stats().totals.received === 2)
    broker.cut()
    broker.reconnect()
    await until('both are delivered again', () => node.stats().totals.received === 4)
    latch.open()
    await settled(farm)
    expect(journal.lines).toEqual(['+x', '-x', '+x', '-x', 'y'])
    expect(server.acknowledged).toEqual(['twice', 'twice'])
  })
})

it('a retry with the id of a running job waits for its end', async () => {
  const farm = await shared()
  const journal = new Journal()
  const latch = new Latch()
  farm.server.add('hold', [latch.path, journal.path, 'x'], { id: 'same' })
  await journal.seen('+x')
  farm.server.add('mark', [journal.path, 'retry'], { id: 'same', counts: { attempt: 2 } })
  const other = farm.server.add('echo', [1])
  await until('another is through', () => farm.server.acknowledged.includes(other))
  await until('the first is known to run', () => farm.node.stats().running === 1)
  expect(farm.node.stats().held).toBe(2)
  latch.open()
  await settled(farm)
  expect(journal.lines).toEqual(['+x', '-x', 'retry'])
})

it('the runtime repeats a settlement that the broker refuses until it succeeds', async () => {
  const farm = await shared()
  const { server } = farm
  server.refusing = true
  server.add('fail', [], { maxAttempts: 1 })
  await until('its settlement is refused', () => server.refusals > 0)
  expect(server.dead).toEqual([])
  expect(farm.node.stats().totals.failed).toBe(0)
  server.refusing = false
  await settled(farm)
  expect(server.dead).toHaveLength(1)
  expect(farm.node.stats().totals).toMatchObject({ failed: 1, refused: 0 })
})
