import type { FarmNode, NodeOptions } from 'prefork/node'
import { describe, expect, it } from 'vitest'
import { eventsOf, sharedPuller, startUnder } from '../fixtures/nodes.js'
import { JobTable, PullingBroker } from '../fixtures/pulling-broker.js'
import { Journal, Latch, until } from '../fixtures/support.js'

interface Puller {
  readonly node: FarmNode
  readonly broker: PullingBroker
}

const shared = sharedPuller()

const start = async (table: JobTable, options: Partial<NodeOptions> = {}, name?: string): Promise<Puller> => {
  const broker = new PullingBroker(table, name)
  return { broker, node: await startUnder(broker, options) }
}

/** The job x, which runs until the test lets it end. */
const holding = async (table: JobTable, task = 'hold', given?: Parameters<JobTable['add']>[3]): Promise<{ journal: Journal; latch: Latch }> => {
  const journal = new Journal()
  const latch = new Latch()
  table.add('x', task, [latch.path, journal.path, 'x'], given)
  await journal.seen('+x')
  return { journal, latch }
}

/** Resolves when every job is settled. No lease was settled twice, and no listener is left on an expired one. */
const done = async (table: JobTable): Promise<void> => {
  await until('every job has come to its end', () => table.rows.length === 0)
  await until('no room is taken up', () => table.leases.every(({ taken }) => !taken))
  inOrder(table)
}

const inOrder = (table: JobTable): void => {
  expect(table.wrong).toEqual([])
  expect(table.listenedTo).toBe(0)
}

const acknowledged = (table: JobTable): string[] => table.acknowledged.map(({ id }) => id).sort()

describe('with a broker that is polled, a node', () => {
  it('claims as many jobs as its prefetch, while it grows and shrinks, and not one more', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { minWorkers: 2, maxWorkers: 2, prefetchPerWorker: 2, concurrency: 2 })
    const tooMany: number[] = []
    broker.onClaim = () => {
      if (broker.leases.size > 2 * node.stats().scale.alive) tooMany.push(broker.leases.size)
    }
    const journal = new Journal()
    const latches = Array.from({ length: 12 }, () => new Latch())
    const ids = latches.map((latch, index) => table.add(`j${index}`, 'hold', [latch.path, journal.path, `j${index}`]))
    await until('there is no room left', () => node.stats().running === 4)
    await node.command({ command: 'grow' })
    await until('there is room for two more', () => node.stats().running === 6)
    await node.command({ command: 'shrink', by: 2 })
    for (const latch of latches.slice(0, 4)) latch.open()
    await until('there is room for two in all', () => table.acknowledged.length === 4 && broker.leases.size === 2)
    latches[4]!.open()
    await journal.seen('+j6')
    expect(table.leases).toHaveLength(7)
    for (let index = 5; index < latches.length; index++) {
      await node.command({ command: index % 2 === 0 ? 'shrink' : 'grow' })
      latches[index]!.open()
      await journal.seen(`-j${index}`)
    }
    await done(table)
    expect(tooMany).toEqual([])
    expect(acknowledged(table)).toEqual(ids.sort())
    expect(journal.lines).toHaveLength(24)
  })

  it('does not start a job whose lease has expired: another claim runs it, once, and the jobs beside it are not affected', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { prefetchPerWorker: 5, concurrency: 1 }, 'first')
    const journal = new Journal()
    const latch = new Latch()
    table.add('running', 'hold', [latch.path, journal.path, 'running'])
    await journal.seen('+running')
    for (let index = 0; index < 4; index++) table.add(`m${index}`, 'mark', [journal.path, `m${index}`])
    await until('all are held', () => node.stats().held === 5)
    await node.command({ command: 'quiet' })
    for (const id of ['m0', 'm2']) table.expire(id)
    await until('both are taken back', () => node.snapshot().tasks.length === 3)
    expect(node.snapshot().tasks.map(({ id }) => id)).toEqual(['running', 'm1', 'm3'])
    expect(node.stats().held).toBe(3)
    await start(table, {}, 'second')
    await until('another has done both', () => table.acknowledged.length === 2)
    expect(journal.lines.toSorted()).toEqual(['+running', 'm0', 'm2'])
    latch.open()
    await done(table)
    expect(table.acknowledged.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
      { id: 'm0', by: 'second' },
      { id: 'm1', by: 'first' },
      { id: 'm2', by: 'second' },
      { id: 'm3', by: 'first' },
      { id: 'running', by: 'first' },
    ])
    expect(journal.lines.toSorted()).toEqual(['+running', '-running', 'm0', 'm1', 'm2', 'm3'])
    expect(eventsOf({ broker }, 'm0')).toEqual(['task.received'])
    expect(table.leases).toHaveLength(7)
  })

  it.each(['hold', 'holdSync'])('runs a job once that it claims again before it was recalled (%s)', async (task) => {
    const table = new JobTable()
    const { node } = await start(table, { prefetchPerWorker: 5, concurrency: 1 })
    const journal = new Journal()
    const latch = new Latch()
    const ids = [table.add('running', task, [latch.path, journal.path, 'running'])]
    await journal.seen('+running')
    for (let index = 0; index < 4; index++) ids.push(table.add(`m${index}`, 'mark', [journal.path, `m${index}`]))
    for (let round = 1; round <= 5; round++) {
      await until('all are held', () => node.stats().held === 5 && table.ready.length === 0)
      for (const id of ['m0', 'm3']) table.expire(id)
      await until('both have been claimed again', () => node.stats().totals.received === 5 + 2 * round)
    }
    latch.open()
    await done(table)
    expect(acknowledged(table)).toEqual(ids.sort())
    expect(journal.lines.slice(0, 2)).toEqual(['+running', '-running'])
    expect(journal.lines.slice(2).sort()).toEqual(['m0', 'm1', 'm2', 'm3'])
  })

  it('drops a job that waits for its rate limit when its lease expires', async () => {
    const table = new JobTable()
    const { node } = await start(table, { taskDefaults: { mark: { rateLimit: '1/h' } } })
    const journal = new Journal()
    for (const id of ['a', 'b', 'c']) table.add(id, 'mark', [journal.path, id])
    await until('two wait', () => table.acknowledged.length === 1 && node.stats().held === 2)
    await node.command({ command: 'quiet' })
    table.expire('b')
    await until('it is known to be gone', () => node.stats().held === 1)
    expect(node.snapshot().tasks.map(({ id }) => id)).toEqual(['a', 'c'])
    await start(table, {}, 'second')
    await until('another has done it', () => table.acknowledged.some(({ id, by }) => id === 'b' && by === 'second'))
    await node.command({ command: 'rate_limit', task: 'mark', limit: null })
    await done(table)
    expect(journal.lines).toEqual(['a', 'b', 'c'])
  })

  it('claims nothing while a job runs whose lease is gone, with a prefetch of one', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { prefetchPerWorker: 1, concurrency: 1 })
    const { journal, latch } = await holding(table)
    table.expire('x')
    const other = table.claim('another')!
    table.add('y', 'mark', [journal.path, 'y'])
    await until('the lease is known to be gone', () => node.stats().held === 0)
    const { looks } = broker
    await until('it has looked for more', () => broker.looks > looks + 3)
    expect(table.leases).toHaveLength(2)
    expect(node.stats()).toMatchObject({ held: 0, running: 1 })
    // Another node has capacity for it.
    await start(table, {}, 'a third')
    await until('y is done', () => table.acknowledged.length === 1)
    expect(table.acknowledged).toEqual([{ id: 'y', by: 'a third' }])
    latch.open()
    await until('it has room again', () => broker.taken === 0)
    expect(table.settle(other, { kind: 'acknowledge' }).settled).toBe(true)
    await done(table)
    expect(journal.lines).toEqual(['+x', 'y', '-x'])
  })

  it('frees the place of a job that waited for one of the same id when its lease expires', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { prefetchPerWorker: 2, concurrency: 2 })
    const { journal, latch } = await holding(table)
    table.add('x', 'mark', [journal.path, 'retry'], { counts: { attempt: 2 } })
    await until('both are held', () => node.stats().held === 2)
    await node.command({ command: 'quiet' })
    table.expire('x', 2)
    await until('there is room for one', () => broker.taken === 1)
    await node.command({ command: 'resume' })
    latch.open()
    await done(table)
    expect(journal.lines).toEqual(['+x', '-x', 'retry'])
  })

  describe('finishes a running job whose lease expires', () => {
    it('and settles it when it claims it again, without running it again', async () => {
      const table = new JobTable()
      const { node } = await start(table, { prefetchPerWorker: 2, concurrency: 2 })
      const journal = new Journal()
      const latch = new Latch()
      const beside = new Latch()
      table.add('x', 'hold', [latch.path, journal.path, 'x'], { replyTo: 'me' })
      table.add('beside', 'hold', [beside.path, journal.path, 'beside'])
      await until('both run', () => node.stats().running === 2)
      await node.command({ command: 'quiet' })
      table.expire('x')
      await until('the lease is known to be gone', () => node.stats().held === 1)
      latch.open()
      await until('its outcome is known', () => node.stats().totals.refused === 1)
      expect([table.acknowledged, table.replies]).toEqual([[], []])
      await node.command({ command: 'resume' })
      await until('it is acknowledged', () => table.acknowledged.length === 1)
      expect(table.replies).toMatchObject([{ id: 'x', ok: true }])
      beside.open()
      await done(table)
      expect(acknowledged(table)).toEqual(['beside', 'x'])
      expect(journal.lines.filter((line) => line.endsWith('x'))).toEqual(['+x', '-x'])
      expect(node.stats().totals).toMatchObject({ received: 3, succeeded: 2, recognised: 1 })
    })

    it('and recognises it while it still runs, however often it is claimed', async () => {
      const table = new JobTable()
      const { node } = await shared(table)
      const { journal, latch } = await holding(table, 'hold', { replyTo: 'me' })
      for (let claims = 2; claims <= 6; claims++) {
        await until('it is known to run under one lease', () => node.stats().running === 1 && node.stats().held === 1)
        table.expire('x')
        await until('it is claimed again', () => node.stats().totals.received === claims)
      }
      latch.open()
      await done(table)
      expect(acknowledged(table)).toEqual(['x'])
      expect(table.replies).toHaveLength(1)
      expect(journal.lines).toEqual(['+x', '-x'])
    })

    it('and retries a failure once, when it has claimed it again', async () => {
      const table = new JobTable()
      const { node } = await shared(table)
      const { journal, latch } = await holding(table, 'holdThenFail', { maxAttempts: 2 })
      await node.command({ command: 'quiet' })
      table.expire('x')
      await until('the lease is known to be gone', () => node.stats().held === 0)
      latch.open()
      await until('its outcome is known', () => node.stats().totals.refused === 1)
      expect(table.republished).toEqual([])
      await node.command({ command: 'resume' })
      await done(table)
      expect(table.republished).toEqual(['x'])
      expect(table.dead).toMatchObject([{ settlement: { reason: 'failed', counts: { attempt: 2 } } }])
      expect(journal.lines).toEqual(['+x', '+x'])
    })
  })

  describe('does not run a job again after its worker died', () => {
    /** The node takes no x meanwhile: another has it. */
    const beginsNoX = async (table: JobTable, node: FarmNode, journal: Journal): Promise<void> => {
      table.claim('another')
      await until('it is known to be gone', () => node.stats().held === 0)
      await node.command({ command: 'resume' })
      table.add('y', 'mark', [journal.path, 'y'])
      await until('y is done', () => table.acknowledged.length === 1)
      expect(node.snapshot().tasks).toMatchObject([{ id: 'x', status: 'lost' }, { id: 'y' }])
      expect(node.stats()).toMatchObject({ running: 0, totals: { lost: 1, succeeded: 1, refused: 0 } })
      expect(journal.lines).toEqual(['+x', 'y'])
      inOrder(table)
    }

    it('where its lease expires while it waits for that', async () => {
      const table = new JobTable()
      const { node } = await start(table, { prefetchPerWorker: 1 })
      const { journal } = await holding(table)
      await node.command({ command: 'quiet' })
      node.onEvent(({ type }) => {
        if (type === 'task.lost') table.expire('x')
      })
      process.kill(node.stats().workers[0]!.pid!, 'SIGKILL')
      await until('it is lost', () => node.stats().totals.lost === 1)
      await beginsNoX(table, node, journal)
    })

    it('where its lease expired while it ran', async () => {
      const table = new JobTable()
      const { node } = await start(table, { prefetchPerWorker: 1 })
      const { journal } = await holding(table)
      await node.command({ command: 'quiet' })
      table.expire('x')
      await until('it is known to be gone', () => node.stats().held === 0)
      process.kill(node.stats().workers[0]!.pid!, 'SIGKILL')
      await until('it is lost', () => node.stats().totals.lost === 1)
      await beginsNoX(table, node, journal)
    })

    it('unless it claims it again', async () => {
      const table = new JobTable()
      const { node } = await shared(table)
      const journal = new Journal()
      node.onEvent(({ type }) => {
        if (type === 'task.lost' && table.leases.length === 1) table.expire('x')
      })
      table.add('x', 'killSelf', ['SIGKILL'], { retryLost: 2 })
      table.add('y', 'mark', [journal.path, 'y'])
      await done(table)
      expect(table.dead).toMatchObject([{ message: { id: 'x' }, settlement: { reason: 'lost' } }])
      expect(journal.lines).toEqual(['y'])
    })
  })

  it('leaves no listener on the lease of a job that waited for one of the same id and was requeued', async () => {
    const table = new JobTable()
    const { node } = await shared(table)
    const { journal, latch } = await holding(table)
    table.add('x', 'mark', [journal.path, 'retry'], { counts: { attempt: 2 } })
    await until('both are held', () => node.stats().held === 2)
    await node.command({ command: 'pause' })
    await until('one is given back', () => table.returned.length === 1)
    expect(table.listenedTo).toBe(0)
    latch.open()
    await until('the other has ended', () => table.acknowledged.length === 1)
    await node.command({ command: 'resume' })
    await done(table)
    expect(journal.lines).toEqual(['+x', '-x', 'retry'])
  })

  it('requeues at its shutdown jobs that have not started, and finishes running ones under their lease', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { prefetchPerWorker: 4, concurrency: 1 })
    const journal = new Journal()
    const latch = new Latch()
    table.add('x', 'hold', [latch.path, journal.path, 'x'])
    await until('it is known to run', () => node.stats().running === 1)
    table.expire('x')
    await until('it is held under another lease alone', () => node.stats().totals.received === 2 && node.stats().held === 1)
    for (const id of ['a', 'b', 'c', 'd']) table.add(id, 'mark', [journal.path, id])
    await until('there is no room left', () => node.stats().held === 4)
    const report = node.shutdown()
    await until('what has not begun is back', () => table.ready.length === 4)
    expect(broker.leases.size).toBe(1)
    latch.open()
    expect(await report).toEqual({ clean: true, requeued: 3, killed: 0 })
    expect(table.returned.sort()).toEqual(['a', 'b', 'c'])
    expect(acknowledged(table)).toEqual(['x'])
    expect(table.leases).toHaveLength(5)
    expect(journal.lines).toEqual(['+x', '-x'])
    expect(broker.connected).toBe(false)
    inOrder(table)
  })

  it('loses no job, and runs none twice that it remembers, when leases expire at random under load', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { minWorkers: 2, prefetchPerWorker: 6, concurrency: 3 })
    const journal = new Journal()
    const ids = Array.from({ length: 100 }, (_, index) => table.add(`j${index}`, 'sleepThenMark', [index % 7, journal.path, `j${index}`]))
    let most = 0
    broker.onClaim = () => {
      most = Math.max(most, broker.leases.size)
      if (table.leases.length % 5 !== 0) return
      const held = [...broker.leases].filter((lease) => !lease.settled && table.renew(lease))
      table.expire(held[table.leases.length % held.length]!.row.message.id!)
    }
    await done(table)
    expect(acknowledged(table)).toEqual(ids.sort())
    expect(journal.lines).toHaveLength(ids.length)
    expect(table.leases.length).toBeGreaterThan(ids.length)
    expect(most).toBeLessThanOrEqual(12)
    expect(node.stats().totals).toMatchObject({ succeeded: ids.length, lost: 0, failed: 0 })
  })
})
