// What a broker and the runtime ask of each other, on a job table with leases.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createNode, type FarmNode, type NodeOptions } from 'prefork/node'
import { describe, expect, it } from 'vitest'
import type { Calls } from '../../src/worker/current-job.js'
import { sharedPuller, startUnder } from '../fixtures/nodes.js'
import { fixture } from '../fixtures/pools.js'
import { JobTable, PullingBroker } from '../fixtures/pulling-broker.js'
import { Journal, Latch, until } from '../fixtures/support.js'

const shared = sharedPuller()

const start = async (table: JobTable, options: Partial<NodeOptions> = {}, name?: string): Promise<{ node: FarmNode; broker: PullingBroker }> => {
  const broker = new PullingBroker(table, name)
  return { broker, node: await startUnder(broker, options) }
}

const done = async (table: JobTable): Promise<void> => {
  await until('every job has come to its end', () => table.rows.length === 0)
  expect(table.wrong).toEqual([])
}

const acknowledged = (table: JobTable): string[] => table.acknowledged.map(({ id }) => id).sort()

describe('jobs under one id', () => {
  it('of two queues run both, though each was delivered before', async () => {
    const table = new JobTable()
    const journal = new Journal()
    for (const queue of ['a', 'b']) table.add('daily', 'mark', [journal.path, queue], { queue, redelivered: true })
    await start(table, { concurrency: 2, prefetchPerWorker: 2 })
    await done(table)
    expect(journal.lines.sort()).toEqual(['a', 'b'])
    expect(acknowledged(table)).toEqual(['daily', 'daily'])
  })

  it('of one queue run both where their keys differ, at the same time', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const latches = ['1', '2'].map((key) => {
      const latch = new Latch()
      table.add('daily', 'hold', [latch.path, journal.path, key], { key, redelivered: true })
      return latch
    })
    const { node } = await start(table, { concurrency: 2, prefetchPerWorker: 2 })
    await until('both run', () => node.stats().running === 2)
    for (const latch of latches) latch.open()
    await done(table)
    expect(journal.lines.sort()).toEqual(['+1', '+2', '-1', '-2'])
    expect(node.stats().totals).toMatchObject({ succeeded: 2, recognised: 0 })
  })

  it('of one key do not run twice: the second delivery is recognised', async () => {
    const table = new JobTable()
    const journal = new Journal()
    for (let i = 0; i < 2; i++) table.add('daily', 'mark', [journal.path, 'ran'], { key: 'k', redelivered: true })
    const { node } = await start(table, { concurrency: 1, prefetchPerWorker: 1 })
    await done(table)
    expect(journal.lines).toEqual(['ran'])
    expect(node.stats().totals).toMatchObject({ received: 2, succeeded: 1, recognised: 1 })
  })
})

describe('a revocation', () => {
  it('by id ends the next job with that id and no later one', async () => {
    const table = new JobTable()
    const { node } = await shared(table)
    await node.command({ command: 'revoke', id: 'daily' })
    const journal = new Journal()
    table.add('daily', 'mark', [journal.path, 'first'])
    await until('it is settled', () => table.revoked.length === 1)
    table.add('daily', 'mark', [journal.path, 'second'])
    await done(table)
    expect(journal.lines).toEqual(['second'])
    expect([table.revoked, acknowledged(table)]).toEqual([['daily'], ['daily']])
  })

  it('by id is spent on all nodes by the job that it meets on one, whose key stays revoked on all', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const nodes = [await start(table, {}, 'one'), await start(table, {}, 'two')]
    for (const { node } of nodes) await node.command({ command: 'revoke', id: 'daily' })
    table.add('daily', 'mark', [journal.path, 'first'], { key: 'k1' })
    await until('it is settled', () => table.revoked.length === 1)
    // Whichever node takes them: the key is revoked, another one is not.
    for (let i = 0; i < 6; i++) table.add('daily', 'mark', [journal.path, 'first again'], { key: 'k1', redelivered: true, counts: { requeues: i + 1 } })
    for (let i = 2; i < 8; i++) table.add('daily', 'mark', [journal.path, `k${i}`], { key: `k${i}` })
    await done(table)
    expect(journal.lines.sort()).toEqual(['k2', 'k3', 'k4', 'k5', 'k6', 'k7'])
    expect(table.revoked).toHaveLength(7)
  })

  it('by id and queue leaves the jobs of other queues alone', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { node } = await shared(table)
    await node.command({ command: 'revoke', id: 'daily', queue: 'a' })
    for (const queue of ['b', 'a']) table.add('daily', 'mark', [journal.path, queue], { queue })
    await done(table)
    expect(journal.lines).toEqual(['b'])
  })

  it('by key leaves other jobs with the same id alone', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { node } = await shared(table)
    expect(await node.command({ command: 'revoke', key: 'k2' })).toMatchObject({ key: 'k2', outcome: 'remembered' })
    for (const key of ['k1', 'k2', 'k3']) table.add('daily', 'mark', [journal.path, key], { key })
    await done(table)
    expect(journal.lines).toEqual(['k1', 'k3'])
  })

  it('of a job that waits outlives a pause: it is settled as revoked, not given back', async () => {
    const table = new JobTable()
    const { node } = await shared(table)
    await node.command({ command: 'rate_limit', task: 'echo', limit: '1/h' })
    table.add('passes', 'echo', [1])
    table.add('waits', 'echo', [2], { redelivered: true })
    await until('one waits', () => node.stats().held === 1 && table.acknowledged.length === 1)
    expect(await node.command({ command: 'revoke', id: 'waits' })).toMatchObject({ outcome: 'revoked' })
    await node.command({ command: 'pause' })
    await done(table)
    expect([table.revoked, table.returned]).toEqual([['waits'], []])
  })

  it('is known to a node that starts later: it asks the others before it takes jobs', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { node } = await start(table, {}, 'one')
    for (const target of [{ id: 'daily' }, { id: 'weekly', queue: 'a' }, { key: 'k' }]) await node.command({ command: 'revoke', ...target })
    await node.command({ command: 'quiet' })
    table.add('daily', 'mark', [journal.path, 'daily'])
    table.add('weekly', 'mark', [journal.path, 'weekly of b'], { queue: 'b' })
    table.add('weekly', 'mark', [journal.path, 'weekly of a'], { queue: 'a' })
    table.add('other', 'mark', [journal.path, 'k'], { key: 'k' })
    await start(table, {}, 'two')
    await done(table)
    expect([table.revoked.sort(), journal.lines]).toEqual([['daily', 'other', 'weekly'], ['weekly of b']])
    // Spent on the one that was asked, too.
    await node.command({ command: 'resume' })
    table.add('daily', 'mark', [journal.path, 'daily again'])
    await done(table)
    expect(journal.lines).toContain('daily again')
  })

  it('that another node tells late meets the jobs that are here by then', async () => {
    const table = new JobTable()
    const broker = new PullingBroker(table)
    let answer: (value: unknown) => void = () => {}
    broker.control.askNodes = async (_, receive) => {
      answer = receive
    }
    const node = await startUnder(broker, { taskDefaults: { echo: { rateLimit: '1/h' } } })
    for (const id of ['passes', 'by id', 'by key']) table.add(id, 'echo', [1], { key: `key of ${id}` })
    await until('two wait', () => node.stats().held === 2 && table.acknowledged.length === 1)
    answer({ keys: ['key of by key'], ids: [{ id: 'by id', at: 5 }] })
    await done(table)
    expect(table.revoked.sort()).toEqual(['by id', 'by key'])
  })

  it('is not to be had from a node of another version, and the asking one starts without', async () => {
    const table = new JobTable()
    const warnings: string[] = []
    const log = (): void => {}
    const logger = { trace: log, debug: log, info: log, warn: (_: object, message: string) => void warnings.push(message), error: log }
    table.handlers.set('older', async () => {
      throw new TypeError("There is no command 'revocations'")
    })
    for (const value of [undefined, { keys: 5, ids: [] }, { keys: [], ids: [{ queue: 'a', at: 1 }] }, { keys: [], ids: [{ id: 'a' }] }])
      table.handlers.set({}, async () => value)
    await start(table, { logger })
    table.add('x', 'echo', [1])
    await done(table)
    expect(warnings.filter((each) => each === "another node's revocations cannot be read")).toHaveLength(4)
  })

  it('of a running job whose worker dies keeps it from running again', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { node } = await shared(table)
    table.add('x', 'spinThenMark', [journal.path, 'x'], { retryLost: 5 })
    await journal.seen('+x')
    expect(await node.command({ command: 'revoke', id: 'x' })).toMatchObject({ outcome: 'running' })
    process.kill(node.stats().workers[0]!.pid!, 'SIGKILL')
    await done(table)
    expect([table.revoked, journal.lines]).toEqual([['x'], ['+x']])
  })

  it('of a running job keeps it from being tried again, and can be made to end it', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const latch = new Latch()
    const { node } = await start(table, { concurrency: 2, prefetchPerWorker: 2 })
    table.add('fails', 'holdThenFail', [latch.path, journal.path, 'fails'], { maxAttempts: 5 })
    table.add('spins', 'spinFor', [600_000])
    await until('both run', () => node.stats().running === 2)
    expect(await node.command({ command: 'revoke', id: 'fails' })).toMatchObject({ outcome: 'running' })
    expect(await node.command({ command: 'revoke', id: 'spins' })).toMatchObject({ outcome: 'running' })
    expect(await node.command({ command: 'revoke', id: 'spins', terminate: true })).toMatchObject({ outcome: 'terminated' })
    latch.open()
    await done(table)
    expect(table.revoked.sort()).toEqual(['fails', 'spins'])
    expect([table.republished, journal.lines]).toEqual([[], ['+fails']])
  })
})

describe('a settlement', () => {
  it('that is refused is counted, and the end of its job is told when one is taken', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const latch = new Latch()
    const { node, broker } = await shared(table)
    table.add('x', 'hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    await node.command({ command: 'quiet' })
    table.expire('x')
    latch.open()
    await until('it has come too late', () => node.stats().totals.refused === 1)
    expect(broker.events.map(({ type }) => type)).not.toContain('task.succeeded')
    expect(node.stats().totals.succeeded).toBe(0)
    await node.command({ command: 'resume' })
    await done(table)
    expect(broker.events.filter(({ type }) => type === 'task.succeeded')).toHaveLength(1)
    expect(node.stats().totals).toMatchObject({ refused: 1, succeeded: 1, recognised: 1 })
  })

  it('is tried for as long as the lease lives, where the store says that its refusal passes', async () => {
    const table = new JobTable()
    const journal = new Journal()
    // Any other refusal is final after 6.
    table.busy = 7
    const { node } = await shared(table)
    table.add('x', 'mark', [journal.path, 'x'])
    await done(table)
    expect([table.busy, journal.lines, acknowledged(table), table.returned]).toEqual([0, ['x'], ['x'], []])
    expect(node.stats().totals).toMatchObject({ succeeded: 1, refused: 0 })
  })

  it('of a job that runs again or dies says why, and with what error', async () => {
    const table = new JobTable()
    await shared(table)
    table.add('twice', 'fail', ['first'], { maxAttempts: 2 })
    await done(table)
    expect(table.settlements).toMatchObject([
      { kind: 'republish', why: 'failed', error: { name: 'Error', message: 'first' } },
      { kind: 'dead-letter', reason: 'failed', error: { name: 'Error', message: 'first' } },
    ])
  })

  it('brings the answer with it, where the broker keeps answers', async () => {
    const table = new JobTable()
    table.keepsAnswers = true
    const { node } = await shared(table)
    table.add('value', 'echo', [{ of: [1, 2] }], { replyTo: 'me' })
    table.add('error', 'fail', ['no'], { maxAttempts: 1 })
    await node.command({ command: 'revoke', id: 'revoked' })
    table.add('revoked', 'echo', [1])
    await done(table)
    const answers = Object.fromEntries(table.answers.map(({ id, answer }) => [id, answer]))
    expect(answers).toMatchObject({
      value: { ok: true, value: { of: [1, 2] } },
      error: { ok: false, error: { message: 'no' } },
      revoked: { ok: false, error: { code: 'ERR_PREFORK_REVOKED' } },
    })
    expect(table.replies).toEqual([])
  })

  it('is followed by another run under the same key, where the broker keeps answers', async () => {
    const table = new JobTable()
    table.keepsAnswers = true
    const { node } = await shared(table)
    await node.command({ command: 'revoke', key: '7' })
    table.add('first', 'echo', [1], { key: '7' })
    await done(table)
    table.add('again', 'echo', [2], { key: '7' })
    await done(table)
    expect(table.revoked).toEqual(['first'])
    expect(table.answers.at(-1)).toEqual({ id: 'again', answer: { ok: true, value: 2 } })
  })
})

describe('a job of a task that a node does not know', () => {
  it('waits, with the attempt that it has, and runs on a node that knows it', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { node } = await start(table, { tasks: fixture('second.js') }, 'old')
    node.onEvent(({ type }) => {
      if (type === 'task.retried') void node.command({ command: 'quiet' })
    })
    // Its first wait would be a second.
    table.add('x', 'mark', [journal.path, 'x'], { maxAttempts: 1, counts: { unknownFor: 599_990 } })
    await until('it is put off', () => table.republished.length === 1)
    expect(table.settlements).toMatchObject([{ kind: 'republish', why: 'unknown_task', delay: 10, counts: { attempt: 1, unknownFor: 600_000 } }])
    await start(table, {}, 'new')
    await done(table)
    expect(journal.lines).toEqual(['x'])
    expect(table.acknowledged).toEqual([{ id: 'x', by: 'new' }])
  })

  it('does not wait anew when it comes back', async () => {
    const table = new JobTable()
    const { node } = await start(table, { unknownTaskTimeout: 5 })
    table.add('x', 'nosuch', [], { redelivered: undefined })
    await done(table)
    expect(table.settlements).toMatchObject([{ kind: 'republish' }, { kind: 'dead-letter', reason: 'unknown_task', counts: { attempt: 1 } }])
    expect(node.stats().totals).toMatchObject({ received: 2, recognised: 0, deadLettered: 1 })
  })
})

describe('a delivery', () => {
  it.each([
    ['was lost too often before', { counts: { losses: 99 } }, 'lost', 'ERR_PREFORK_LOST_TOO_OFTEN'],
    ['returned too often before', { counts: { requeues: 99 } }, 'redelivered', 'ERR_PREFORK_REDELIVERED'],
  ])('that %s does not begin', async (_, given, reason, code) => {
    const table = new JobTable()
    const journal = new Journal()
    await start(table, { maxLosses: 3 })
    table.add('x', 'mark', [journal.path, 'x'], given)
    await done(table)
    expect(journal.lines).toEqual([])
    expect(table.dead).toMatchObject([{ settlement: { reason, error: { code } } }])
  })

  it('that was lost as often as is allowed begins once more', async () => {
    const table = new JobTable()
    const journal = new Journal()
    await start(table, { maxLosses: 3 })
    table.add('x', 'mark', [journal.path, 'x'], { counts: { losses: 2, requeues: 20 } })
    await done(table)
    expect(journal.lines).toEqual(['x'])
  })

  it('is told of each beginning, and of the progress of its job', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { broker } = await shared(table)
    table.add('dies', 'dieThenMark', [journal.path, 'ran'], { retryLost: 3 })
    table.add('reports', 'reportProgress', [[1, { half: true }, 'x'.repeat(5_000)]])
    await done(table)
    expect(table.begun.filter(({ id }) => id === 'dies').map(({ beginnings }) => beginnings)).toEqual([1, 2])
    expect(table.progress).toEqual([1, { half: true }, 'x'.repeat(5_000)].map((value) => ({ id: 'reports', value })))
    // Events carry no long values.
    expect(broker.events.flatMap((event) => (event.type === 'task.progress' ? [event.value] : []))).toEqual([1, { half: true }, undefined])
  })

  it('is told by a broker that throws in there, and its job goes on', async () => {
    const table = new JobTable()
    const journal = new Journal()
    table.hooksThrow = true
    const { node } = await shared(table)
    table.add('x', 'reportProgress', [[1, 2]])
    table.add('y', 'mark', [journal.path, 'y'])
    await done(table)
    expect([acknowledged(table), journal.lines]).toEqual([['x', 'y'], ['y']])
    expect(node.stats().totals).toMatchObject({ succeeded: 2 })
  })

  it('gives its job the results of those that it depended on', async () => {
    const table = new JobTable()
    table.keepsAnswers = true
    await shared(table)
    const results = { first: [1, new Date(0)], second: undefined }
    table.add('x', 'deliveredResults', [], { results })
    table.add('y', 'deliveredResults', [])
    await done(table)
    expect(table.answers.map(({ answer }) => answer)).toEqual([
      { ok: true, value: results },
      { ok: true, value: undefined },
    ])
  })

  it('gives the task of its job functions to call', async () => {
    const table = new JobTable()
    table.keepsAnswers = true
    const context = new AsyncLocalStorage<string>()
    class Functions {
      readonly add = async (a: number, b: number): Promise<unknown> => [a + b, context.getStore()]
      refuse(): void {}
    }
    const receive = PullingBroker.prototype.consume
    const broker = new PullingBroker(table)
    broker.consume = (capacity, take) => receive.call(broker, capacity, (delivery) => context.run(`of ${delivery.id}`, take, delivery))
    table.callsOf = () => new Functions() as unknown as Calls
    await startUnder(broker)
    table.add('adds', 'callHost', ['add', 1, 2])
    table.add('refused', 'callHost', ['refuse'], { maxAttempts: 1 })
    await done(table)
    table.callsOf = undefined
    table.add('without', 'callHost', ['add', 1, 2], { maxAttempts: 1 })
    await done(table)
    expect(Object.fromEntries(table.answers.map(({ id, answer }) => [id, answer]))).toMatchObject({
      adds: { ok: true, value: [3, 'of adds'] },
      refused: { ok: false, error: { code: 'ERR_PREFORK_UNKNOWN_CALL', message: expect.stringContaining('It was given: add.') } },
      without: { ok: false, error: { code: 'ERR_PREFORK_NO_CALLS' } },
    })
  })

  it('that replaces another while its job runs gets the calls of the task', async () => {
    const table = new JobTable()
    table.keepsAnswers = true
    table.callsOf = (lease) => ({ lease: () => lease })
    const journal = new Journal()
    const latch = new Latch()
    const { node } = await shared(table)
    table.add('x', 'callTwice', [latch.path, journal.path, 'lease'])
    await journal.seen('called')
    table.expire('x')
    await until('it is delivered again', () => node.stats().totals.received === 2 && node.stats().held === 1)
    latch.open()
    await done(table)
    expect(table.answers).toEqual([{ id: 'x', answer: { ok: true, value: [1, 2] } }])
  })

  it('that is gone ends the run of its job, where the broker asks for that, and another claim runs it', async () => {
    const table = new JobTable()
    table.endsWhenGone = true
    const journal = new Journal()
    const first = await start(table, {}, 'first')
    table.add('x', 'spinThenMark', [journal.path, 'x'])
    await journal.seen('+x')
    await first.node.command({ command: 'quiet' })
    table.expire('x')
    await until('its worker is free', () => first.node.stats().running === 0)
    expect(journal.lines).toEqual(['+x'])
    await start(table, {}, 'second')
    await until('it runs again', () => journal.lines.length === 2)
    expect(first.node.stats().totals).toMatchObject({ succeeded: 0, lost: 0 })
  })
})

describe('a run that is ended because its delivery is gone', () => {
  const ending = async (
    prefetch: number,
    task = 'holdOn',
  ): Promise<{ table: JobTable; journal: Journal; latch: Latch; node: FarmNode; broker: PullingBroker }> => {
    const table = new JobTable()
    table.endsWhenGone = true
    const journal = new Journal()
    const latch = new Latch()
    const started = await start(table, { prefetchPerWorker: prefetch, concurrency: prefetch })
    table.add('x', task, [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    return { table, journal, latch, ...started }
  }

  it('takes up its room until its task has ended', async () => {
    const { table, journal, latch, node, broker } = await ending(1)
    const running: number[] = []
    broker.onClaim = () => running.push(...node.stats().workers.map((worker) => worker.running))
    table.expire('x')
    const other = table.claim('another')!
    table.add('y', 'mark', [journal.path, 'y'])
    await journal.seen('!x')
    latch.open()
    await journal.seen('y')
    expect(running).toEqual([0])
    table.settle(other, { kind: 'acknowledge' })
    await done(table)
    expect(node.stats().totals).toMatchObject({ succeeded: 1, failed: 0, retried: 0, lost: 0, refused: 0 })
  })

  it('has ended before the job runs anew on the same node', async () => {
    const { table, journal, latch, node } = await ending(2)
    await node.command({ command: 'quiet' })
    table.expire('x')
    await journal.seen('!x')
    await node.command({ command: 'resume' })
    await until('it is delivered again', () => node.stats().totals.received === 2)
    latch.open()
    await done(table)
    expect(journal.lines).toEqual(['+x', '!x', '-x', '+x', '-x'])
    expect(table.begun.map(({ beginnings }) => beginnings)).toEqual([1, 1, 2])
    expect(acknowledged(table)).toEqual(['x'])
    expect(node.stats().totals).toMatchObject({ succeeded: 1, failed: 0, retried: 0, recognised: 0 })
  })

  it('counts where its task still returns a value: the job does not run anew', async () => {
    const { table, journal, latch, node } = await ending(2, 'hold')
    await node.command({ command: 'quiet' })
    table.expire('x')
    await until('it is known to be gone', () => node.stats().held === 0)
    await node.command({ command: 'resume' })
    await until('it is delivered again', () => node.stats().totals.received === 2)
    latch.open()
    await done(table)
    expect([journal.lines, acknowledged(table)]).toEqual([['+x', '-x'], ['x']])
  })
})

it('a run that the node ends is no failure of its job, whatever its task makes of that', async () => {
  const table = new JobTable()
  table.endsWhenGone = true
  const journal = new Journal()
  const latch = new Latch()
  const { node } = await start(table, { concurrency: 3, prefetchPerWorker: 3 })
  table.add('revoked', 'untilAborted', [journal.path, 'revoked'], { maxAttempts: 1 })
  table.add('rejects', 'untilAborted', [journal.path, 'rejects'], { maxAttempts: 1 })
  table.add('goes on', 'holdOn', [latch.path, journal.path, 'goes on'], { maxAttempts: 1 })
  await until('all run', () => node.stats().running === 3)
  expect(await node.command({ command: 'revoke', id: 'revoked', terminate: true })).toMatchObject({ outcome: 'terminated' })
  await until('it is settled', () => table.revoked.length === 1)
  expect(await node.shutdown({ grace: 0 })).toEqual({ clean: false, requeued: 0, killed: 2 })
  expect(table.settlements).toMatchObject([{ kind: 'revoked' }, { kind: 'republish', why: 'lost' }, { kind: 'republish', why: 'lost' }])
  expect(table.wrong).toEqual([])
})

describe('a rate limit', () => {
  it('leaves room for jobs that it does not concern', async () => {
    const table = new JobTable()
    const journal = new Journal()
    const { node } = await start(table, { prefetchPerWorker: 10 })
    await node.command({ command: 'rate_limit', task: 'mark', limit: '1/h' })
    for (let i = 0; i < 40; i++) table.add(`limited ${i}`, 'mark', [journal.path, `limited ${i}`])
    for (let i = 0; i < 5; i++) table.add(`free ${i}`, 'echo', [i])
    await until('all others have run', () => acknowledged(table).filter((id) => id.startsWith('free')).length === 5)
    expect(journal.lines).toHaveLength(1)
  })

  it('takes at most ten times as many jobs as there is room for', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table, { prefetchPerWorker: 2 })
    await node.command({ command: 'rate_limit', task: 'echo', limit: '1/h' })
    for (let i = 0; i < 60; i++) table.add(`limited ${i}`, 'echo', [i])
    await until('no more are taken', () => broker.taken === 20)
    const { looks } = broker
    await until('it has looked again', () => broker.looks > looks + 10)
    expect(broker.taken).toBe(20)
    await node.command({ command: 'rate_limit', task: 'echo', limit: null })
    await done(table)
    await until('the room is that of the workers again', () => broker.capacity === 2)
  })

  it('of a queue is the business of a broker that can limit claims', async () => {
    const table = new JobTable()
    const broker = Object.assign(new PullingBroker(table), { limit: async (queue: string, rate: string | null) => void table.limits.set(queue, rate) })
    const node = await startUnder(broker)
    expect(await node.command({ command: 'rate_limit', queue: 'jobs', limit: '1/h' })).toEqual({ 'queue jobs': '1/h' })
    for (let i = 0; i < 3; i++) table.add(`x${i}`, 'echo', [i])
    await done(table)
    expect([...table.limits]).toEqual([['jobs', '1/h']])
    expect(await node.command({ command: 'rate_limit', queue: 'jobs', limit: null })).toEqual({})
    expect(table.limits.get('jobs')).toBeNull()
  })
})

it('a node that is told to pause or to shut down while it asks the others does so', async () => {
  const table = new JobTable()
  const [pausing, leaving] = [new PullingBroker(table), new PullingBroker(table)]
  const asking: (() => void)[] = []
  for (const { control } of [pausing, leaving]) control.askNodes = () => new Promise((resolve) => asking.push(resolve))
  const starting = [startUnder(pausing), startUnder(leaving)]
  await until('both ask', () => asking.length === 2)
  await table.handlers.get(pausing)!({ command: 'pause' })
  await table.handlers.get(leaving)!({ command: 'shutdown' })
  for (const answered of asking) answered()
  const [paused, left] = await Promise.all(starting)
  expect(await left!.done).toEqual({ clean: true, requeued: 0, killed: 0 })
  expect(left!.stats().state).toBe('stopped')
  expect(paused!.stats().state).toBe('paused')
  table.add('x', 'echo', [1])
  const { looks } = pausing
  await until('it has looked for jobs', () => pausing.looks > looks + 3)
  expect(table.acknowledged).toEqual([])
  await paused!.command({ command: 'resume' })
  await done(table)
})

it('an option of a node that its broker cannot keep is refused by name, with the reason', async () => {
  const broker = Object.assign(new PullingBroker(new JobTable()), { unsupported: { backoff: 'the server decides when a job is tried again' } })
  const options = { tasks: fixture('farm-tasks.js'), backoff: { kind: 'fixed', delay: 1 } } as const
  await expect(createNode(broker, options)).rejects.toMatchObject({
    name: 'TypeError',
    option: 'backoff',
    message: "Option 'backoff' is no option of a node under 'table': the server decides when a job is tried again.",
  })
  expect(broker.connected).toBe(false)
})
