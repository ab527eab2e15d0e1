// A job that came back again and again runs alone: see also test/amqp/isolation.test.ts.
import { fileURLToPath } from 'node:url'
import type { FarmNode, NodeOptions } from 'prefork/node'
import { expect, it } from 'vitest'
import { storedMessage } from '../fixtures/memory-broker.js'
import { startUnder } from '../fixtures/nodes.js'
import { fixture } from '../fixtures/pools.js'
import { JobTable, PullingBroker } from '../fixtures/pulling-broker.js'
import { Journal, Latch, until } from '../fixtures/support.js'

/** Counts how often it is to deliver again, and how often it was asked for its depth. */
class CountingBroker extends PullingBroker {
  resumed = 0
  depths = 0
  isPaused = false

  override consume(...given: Parameters<PullingBroker['consume']>): ReturnType<PullingBroker['consume']> {
    const consumption = super.consume(...given)
    const resume = (): void => {
      this.resumed++
      consumption.resume()
    }
    const pause = async (): Promise<void> => {
      await consumption.pause()
      this.isPaused = true
    }
    return { ...consumption, pause, resume }
  }

  override async depth(): Promise<number> {
    this.depths++
    return await super.depth()
  }
}

const start = async (table: JobTable, options: Partial<NodeOptions> = {}, broker = new PullingBroker(table)): Promise<FarmNode> => {
  return await startUnder(broker, { prefetchPerWorker: 6, concurrency: 3, ...options })
}

const done = async (table: JobTable): Promise<void> => {
  await until('every job has come to its end', () => table.rows.length === 0)
  expect(table.wrong).toEqual([])
}

/** A job that runs until its latch opens. */
const held = async (table: JobTable, journal: Journal, id: string): Promise<Latch> => {
  const latch = new Latch()
  table.add(id, 'hold', [latch.path, journal.path, id])
  await journal.seen(`+${id}`)
  return latch
}

it('a suspect waits for what runs, and what has not begun is given back until it has ended', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table, { concurrency: 1 })
  const running = await held(table, journal, 'running')
  for (const id of ['a', 'b']) table.add(id, 'nap', [0, journal.path, id])
  await until('both are held', () => node.stats().held === 3)
  const alone = new Latch()
  table.add('suspect', 'hold', [alone.path, journal.path, 'suspect'], { returned: 2 })
  await until('they are given back', () => table.returned.length === 2 && node.stats().held === 2)
  running.open()
  await journal.seen('+suspect')
  expect(node.stats().held).toBe(1)
  alone.open()
  await done(table)
  expect(journal.lines.slice(0, 4)).toEqual(['+running', '-running', '+suspect', '-suspect'])
  expect(journal.lines.slice(4).sort()).toEqual(['+a', '+b', '-a', '-b'])
})

it('the body of a suspect is decoded only when it is alone', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table)
  const running = await held(table, journal, 'running')
  table.store({ ...storedMessage('broken', 'mark', [], { returned: 2 }), body: Buffer.of(0xc1) })
  await until('it waits', () => node.stats().held === 2)
  table.add('other', 'mark', [journal.path, 'other'])
  await until('it is chosen', () => table.returned.includes('other'))
  expect(table.dead).toEqual([])
  running.open()
  await done(table)
  expect(table.dead).toMatchObject([{ message: { id: 'broken' }, settlement: { reason: 'undecodable' } }])
})

it('a suspect that no task may lose so often is ended before its body is decoded', async () => {
  const table = new JobTable()
  await start(table, { maxLosses: 3 })
  const broken = (id: string, more: object): void => table.store({ ...storedMessage(id, 'mark', [], more), body: Buffer.of(0xc1) })
  broken('dead', { returned: 5 })
  broken('too few', { returned: 4 })
  broken('more allowed', { returned: 6, retryLost: 4 })
  broken('fewer allowed', { returned: 5, retryLost: 0 })
  broken('counted by the broker', { returned: 2, counts: { losses: 3 } })
  broken('never begun', { returned: 2, counts: { requeues: 21 } })
  await done(table)
  expect(table.dead.map(({ message, settlement: { reason, counts } }) => [message.id, reason, counts.losses]).sort()).toEqual([
    ['counted by the broker', 'lost', 3],
    ['dead', 'lost', 3],
    ['fewer allowed', 'lost', 3],
    ['more allowed', 'undecodable', 0],
    ['never begun', 'redelivered', 0],
    ['too few', 'undecodable', 0],
  ])
})

it.each([
  ['some task of its node', { tasks: [fixture('farm-tasks.js'), fixture('many-lives.js')] }],
  ['a task that is found by its path', { roots: [fileURLToPath(fixture('.'))] }],
])('a suspect that %s may lose so often is decoded', async (_, options) => {
  const table = new JobTable()
  await start(table, { maxLosses: 2, ...options })
  table.store({ ...storedMessage('broken', 'mark', [], { returned: 7 }), body: Buffer.of(0xc1) })
  await done(table)
  expect(table.dead).toMatchObject([{ settlement: { reason: 'undecodable' } }])
})

it('a suspect that waits for a rate leaves the node to the others', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table)
  await node.command({ command: 'rate_limit', task: 'mark', limit: '1/h' })
  table.add('token', 'mark', [journal.path, 'token'])
  await journal.seen('token')
  table.add('suspect', 'mark', [journal.path, 'suspect'], { returned: 2 })
  await until('it is held', () => node.stats().held === 1)
  const other = await held(table, journal, 'other')
  await node.command({ command: 'rate_limit', task: 'mark', limit: null })
  other.open()
  await done(table)
  expect(journal.lines).toEqual(['token', '+other', '-other', 'suspect'])
})

it('of many suspects one runs at a time, and all others with room for them', async () => {
  const table = new JobTable()
  const journal = new Journal()
  await start(table)
  for (let n = 0; n < 12; n++) table.add(`j${n}`, 'nap', [5, journal.path, `j${n}`], n % 2 === 0 ? { returned: 2 + (n % 3) } : {})
  await done(table)
  const { lines } = journal
  expect(lines).toHaveLength(24)
  for (let n = 0; n < 12; n += 2) {
    const begun = lines.indexOf(`+j${n}`)
    expect(lines[begun + 1]).toBe(`-j${n}`)
    // All that had begun had ended.
    expect(lines.slice(0, begun).sort()).toEqual(
      lines
        .slice(0, begun)
        .map((line) => `${line.startsWith('+') ? '-' : '+'}${line.slice(1)}`)
        .sort(),
    )
  }
})

it('suspects that follow each other are taken one by one, so that none is given back again and again', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table)
  for (let n = 0; n < 12; n++) table.add(`j${n}`, 'nap', [0, journal.path, `j${n}`], { returned: 2 })
  await done(table)
  expect(journal.lines).toHaveLength(24)
  const { received } = node.stats().totals
  // Six that gathered first, the others one by one; twice more if the machine was slow meanwhile.
  expect(received).toBeLessThan(12 + 3 * 6)
})

it('each return beyond the second counts as a loss, but fewer than three end no job', async () => {
  const table = new JobTable()
  const journal = new Journal()
  await start(table, { maxLosses: 3 })
  table.add('dead', 'mark', [journal.path, 'dead'], { returned: 5 })
  table.add('more', 'mark', [journal.path, 'more'], { returned: 8, retryLost: 5 })
  table.add('both', 'mark', [journal.path, 'both'], { returned: 5, counts: { losses: 1 }, retryLost: 3 })
  table.add('runs', 'mark', [journal.path, 'runs'], { returned: 4, retryLost: 0 })
  await done(table)
  expect(journal.lines).toEqual(['runs'])
  expect(table.dead.map(({ message, settlement: { reason, counts, error } }) => [message.id, reason, counts.losses, error.code]).sort()).toEqual([
    ['both', 'lost', 4, 'ERR_PREFORK_LOST_TOO_OFTEN'],
    ['dead', 'lost', 3, 'ERR_PREFORK_LOST_TOO_OFTEN'],
    ['more', 'lost', 6, 'ERR_PREFORK_LOST_TOO_OFTEN'],
  ])
})

it('a job whose lease was lost while its node lived is no suspect there, and is one elsewhere', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table)
  const running = await held(table, journal, 'running')
  await node.command({ command: 'rate_limit', task: 'mark', limit: '1/h' })
  table.add('token', 'mark', [journal.path, 'token'])
  await journal.seen('token')
  table.add('x', 'mark', [journal.path, 'x'])
  for (let claims = 3; claims < 8; claims++) {
    await until('it is held', () => node.stats().totals.received === claims && node.stats().held === 2)
    table.expire('x')
  }
  await until('it is held again', () => node.stats().totals.received === 8 && node.stats().held === 2)
  expect(table.rows.find(({ message }) => message.id === 'x')?.message.returned).toBe(5)
  await node.command({ command: 'rate_limit', task: 'mark', limit: null })
  await journal.seen('x')
  running.open()
  await done(table)
  expect(table.dead).toEqual([])
})

it('a node does not start workers for the backlog while a suspect waits', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const broker = new CountingBroker(table)
  const node = await start(table, { concurrency: undefined, minWorkers: 1, maxWorkers: 2, prefetchPerWorker: 2, scaleCheckInterval: 20 }, broker)
  const running = await held(table, journal, 'running')
  table.add('suspect', 'mark', [journal.path, 'suspect'], { returned: 2 })
  await until('it waits, and nothing is taken', () => node.stats().held === 2 && broker.isPaused)
  for (let n = 0; n < 5; n++) table.add(`j${n}`, 'mark', [journal.path, 'j'])
  const { depths } = broker
  await until('the backlog was looked at', () => broker.depths >= depths + 3)
  expect(node.stats().workers).toHaveLength(1)
  running.open()
  await done(table)
})

it('a job that is given back because another is alone uses up no rate limit', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table)
  await node.command({ command: 'rate_limit', task: 'mark', limit: '1/h' })
  const running = await held(table, journal, 'running')
  table.add('suspect', 'nap', [0, journal.path, 'suspect'], { returned: 2 })
  table.add('limited', 'mark', [journal.path, 'limited'])
  await until('it is given back', () => table.returned.includes('limited'))
  running.open()
  await done(table)
  expect(journal.lines).toContain('limited')
})

it('a suspect that is revoked while it waits leaves the node to the others', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const node = await start(table)
  const running = await held(table, journal, 'running')
  table.add('suspect', 'mark', [journal.path, 'suspect'], { returned: 2 })
  await until('it waits', () => node.stats().held === 2)
  expect(await node.command({ command: 'revoke', id: 'suspect' })).toMatchObject({ outcome: 'revoked' })
  table.add('other', 'mark', [journal.path, 'other'])
  await journal.seen('other')
  running.open()
  await done(table)
  expect(table.revoked).toEqual(['suspect'])
})

it('a suspect that waits when its node is paused is given back, and waits again when it goes on', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const broker = new CountingBroker(table)
  const node = await start(table, {}, broker)
  const running = await held(table, journal, 'running')
  table.add('suspect', 'mark', [journal.path, 'suspect'], { returned: 2 })
  await until('it waits, and nothing is taken', () => node.stats().held === 2 && broker.isPaused)
  await node.command({ command: 'pause' })
  await until('it is back', () => table.returned.length === 1 && node.stats().held === 1)
  expect(broker.resumed).toBe(0)
  await node.command({ command: 'resume' })
  await until('it waits again', () => node.stats().held === 2)
  running.open()
  await done(table)
  expect(journal.lines).toEqual(['+running', '-running', 'suspect'])
})

it('a node that is shut down while a suspect waits gives it back', async () => {
  const table = new JobTable()
  const journal = new Journal()
  const broker = new CountingBroker(table)
  const node = await start(table, {}, broker)
  const running = await held(table, journal, 'running')
  table.add('suspect', 'mark', [journal.path, 'suspect'], { returned: 2 })
  await until('it waits, and nothing is taken', () => node.stats().held === 2 && broker.isPaused)
  const report = node.shutdown()
  await until('it is back', () => table.returned.includes('suspect'))
  expect(broker.resumed).toBe(0)
  running.open()
  expect(await report).toEqual({ clean: true, requeued: 1, killed: 0 })
  expect(journal.lines).toEqual(['+running', '-running'])
})
