import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventsOf, runsOf, settled, sharedNode, startNode } from '../fixtures/nodes.js'
import { Journal, Latch, until } from '../fixtures/support.js'

const shared = sharedNode()

const promised = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

describe('a job whose worker dies', () => {
  it('runs again at once and may succeed', async () => {
    const farm = await shared()
    const journal = new Journal()
    const id = farm.server.add('dieOnAttempts', [2, journal.path, 'x'])
    await settled(farm)
    expect(farm.server.acknowledged).toEqual([id])
    expect(journal.lines).toEqual(['+x', '+x', '+x', '-x'])
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.started', 'task.lost', 'task.started', 'task.lost', 'task.started', 'task.succeeded'])
    expect(runsOf(farm, id, 'task.lost')).toEqual([
      [expect.any(Number), expect.any(Number)],
      [expect.any(Number), expect.any(Number)],
    ])
    expect(farm.node.stats().totals).toMatchObject({ lost: 2, succeeded: 1 })
  })

  it('becomes a dead letter after maxLosses losses, with an entry of the history for each', async () => {
    const farm = await shared()
    const id = farm.server.add('killSelf', ['SIGKILL'], { replyTo: 'me' })
    await until('it is dead', () => farm.server.dead.length === 1)
    expect(farm.server.dead[0]).toMatchObject({
      message: { id },
      settlement: {
        reason: 'lost',
        counts: { attempt: 1, losses: 3, requeues: 0 },
        error: { name: 'WorkerLostError', code: 'ERR_PREFORK_WORKER_LOST' },
        history: [{ outcome: 'lost' }, { outcome: 'lost' }, { outcome: 'lost', error: expect.stringContaining('SIGKILL') }],
      },
    })
    expect(farm.server.replies).toMatchObject([{ id, ok: false }])
    expect(farm.node.snapshot().tasks).toMatchObject([{ id, status: 'lost', counts: { attempt: 1, losses: 3 } }])
    expect(farm.node.stats().totals).toMatchObject({ lost: 3, deadLettered: 1 })
  })

  it('counts the losses of earlier deliveries', async () => {
    const farm = await shared()
    farm.server.add('killSelf', ['SIGKILL'], { counts: { losses: 2 } })
    await until('it is dead', () => farm.server.dead.length === 1)
    expect(farm.server.dead[0]!.settlement.history).toHaveLength(1)
  })

  it('takes maxLosses from its message, else from its task', async () => {
    const farm = await startNode({ maxLosses: 5 })
    farm.server.add('killSelf', ['SIGKILL'], { id: 'message', retryLost: 1 })
    await until('one is dead', () => farm.server.dead.length === 1)
    farm.server.add('oneLife', [], { id: 'task' })
    await until('both are dead', () => farm.server.dead.length === 2)
    expect(farm.server.dead.map(({ message, settlement }) => [message.id, settlement.history.length])).toEqual([
      ['message', 2],
      ['task', 1],
    ])
  })

  it('keeps its losses when it is retried after a failure', async () => {
    const farm = await shared()
    const { server } = farm
    server.add('dieThenFail', [1], { maxAttempts: 2 })
    await until('it is dead', () => server.dead.length === 1)
    expect(server.republished).toMatchObject([{ settlement: { counts: { attempt: 2, losses: 1 }, history: [{ outcome: 'lost' }, { outcome: 'failed' }] } }])
  })

  it('does not affect its neighbours: the poison job is dead-lettered, they complete', async () => {
    const farm = await startNode({ minWorkers: 2, concurrency: 4 })
    const ids = Array.from({ length: 40 }, (_, index) => farm.server.add('sleep', [5, index]))
    farm.server.add('killSelf', ['SIGKILL'], { id: 'poison' })
    ids.push(...Array.from({ length: 40 }, (_, index) => farm.server.add('sleep', [5, index])))
    await settled(farm)
    expect(farm.server.dead.map(({ message }) => message.id)).toEqual(['poison'])
    expect(farm.server.acknowledged.sort()).toEqual(ids.sort())
  })
})

it('a job whose worker died goes back untried, with its loss, when no worker starts any more', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-losses-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const tasks = join(folder, 'tasks.mjs')
  writeFileSync(tasks, "export const die = () => process.kill(process.pid, 'SIGKILL')")
  const { server } = await startNode({ tasks })
  writeFileSync(tasks, 'export const die = () => { syntax error')
  server.add('die', [], { id: 'first', maxAttempts: 1 })
  await until('it goes back', () => server.republished.length === 1)
  expect(server.dead).toEqual([])
  expect(server.republished).toMatchObject([{ id: 'first', settlement: { counts: { attempt: 1, losses: 1, requeues: 1 }, history: [{ outcome: 'lost' }] } }])
  writeFileSync(tasks, "export const die = () => process.kill(process.pid, 'SIGKILL')")
  await until('it is dead', () => server.dead.length === 1)
  expect(server.dead).toMatchObject([{ settlement: { reason: 'lost', counts: { attempt: 1, losses: 3 } } }])
})

it('a retry whose task the new worker lacks has an unknown task, and has not failed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-losses-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const tasks = join(folder, 'tasks.mjs')
  const other = 'export const other = () => {}'
  writeFileSync(tasks, `export const die = () => process.kill(process.pid, 'SIGKILL'); ${other}`)
  const { server, node } = await startNode({ tasks, unknownTask: 'dead-letter' })
  writeFileSync(tasks, other)
  server.add('die', [])
  await until('it is dead', () => server.dead.length === 1)
  expect(server.republished).toEqual([])
  expect(server.dead).toMatchObject([
    { settlement: { reason: 'unknown_task', counts: { attempt: 1, losses: 1 }, history: [{ outcome: 'lost' }, { outcome: 'unknown_task' }] } },
  ])
  expect(node.stats().workers).toMatchObject([{ failed: 0 }])
})

it('a task that throws a WorkerStartError has failed', async () => {
  const { server } = await shared()
  server.add('failWith', ['ERR_PREFORK_WORKER_START'], { maxAttempts: 1 })
  await until('it is dead', () => server.dead.length === 1)
  expect(server.dead).toMatchObject([{ settlement: { reason: 'failed', counts: { attempt: 1, losses: 0, requeues: 0 } } }])
})

it('a worker whose main thread stalls for longer than maxStall is ended, and its job counts a loss', async () => {
  const farm = await startNode({ maxStall: 300, heartbeatInterval: 100 })
  const journal = new Journal()
  const latch = new Latch()
  const exits: unknown[] = []
  farm.node.onEvent((event) => {
    if (event.type === 'worker.exit') exits.push(event)
  })
  farm.server.add('holdSync', [latch.path, journal.path, 'x'], { retryLost: 0 })
  await until('the job is dead-lettered', () => farm.server.dead.length === 1)
  expect(farm.server.dead[0]!.settlement).toMatchObject({ reason: 'lost', error: { message: expect.stringContaining('maxStall') } })
  await until('its exit is reported', () => exits.length > 0)
  expect(exits[0]).toMatchObject({ reason: expect.stringContaining('maxStall'), expected: false })
})

describe('a job that came back again and again, under a broker that stores its beginning before', () => {
  it('is decoded and begins when that is stored, and one that did not come back does not wait', async () => {
    const farm = await shared()
    const stored = promised()
    let asked = 0
    const beforeBegin = async (): Promise<void> => {
      asked++
      await stored.promise
    }
    const id = farm.server.add('echo', [1], { returned: 2, beforeBegin })
    await until('it is asked for', () => asked === 1)
    expect(eventsOf(farm, id)).toEqual([])
    stored.resolve()
    await settled(farm)
    farm.server.add('echo', [1], { returned: 1, beforeBegin })
    await settled(farm)
    expect([farm.server.acknowledged.length, asked]).toEqual([2, 1])
  })

  it('goes back when that cannot be stored', async () => {
    const farm = await shared()
    let asked = 0
    const beforeBegin = async (): Promise<void> => {
      if (++asked === 1) throw new Error('no room')
    }
    const id = farm.server.add('echo', [1], { returned: 2, beforeBegin })
    await settled(farm)
    expect([farm.server.acknowledged, asked]).toEqual([[id], 2])
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.started', 'task.succeeded'])
  })

  it('does not begin when its delivery is gone meanwhile', async () => {
    const farm = await shared()
    const stored = promised()
    let asked = 0
    const beforeBegin = async (): Promise<void> => {
      if (++asked === 1) await stored.promise
    }
    const id = farm.server.add('echo', [1], { returned: 2, beforeBegin })
    await until('it is asked for', () => asked === 1)
    farm.broker.cut()
    stored.resolve()
    farm.broker.reconnect()
    await settled(farm)
    expect(farm.server.acknowledged).toEqual([id])
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.started', 'task.succeeded'])
  })
})
