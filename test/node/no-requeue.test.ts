/** A broker that takes no job back, and tries jobs again by its own rules. */
import type { FarmNode, NodeOptions } from 'prefork/node'
import { describe, expect, it } from 'vitest'
import type { Settlement } from '../../src/runtime/delivery.js'
import { startUnder } from '../fixtures/nodes.js'
import { JobTable, PullingBroker } from '../fixtures/pulling-broker.js'
import { Journal, Latch, until } from '../fixtures/support.js'

const start = async (table: JobTable, options: Partial<NodeOptions> = {}): Promise<{ node: FarmNode; broker: PullingBroker }> => {
  const broker = new PullingBroker(table)
  broker.retries = true
  broker.canRequeue = false
  return { broker, node: await startUnder(broker, { concurrency: 1, prefetchPerWorker: 3, ...options }) }
}

const kinds = (table: JobTable): Settlement['kind'][] => table.settlements.map(({ kind }) => kind)

describe('a broker that cannot take a job back', () => {
  const three = (table: JobTable): { journal: Journal; latches: Latch[] } => {
    const journal = new Journal()
    const latches = [0, 1, 2].map((index) => {
      const latch = new Latch()
      table.add(`j${index}`, 'hold', [latch.path, journal.path, index])
      return latch
    })
    return { journal, latches }
  }

  it('has every job run that it has delivered, while the node is paused', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table)
    const { journal, latches } = three(table)
    await until('all are held', () => broker.leases.size === 3)
    await node.command({ command: 'pause' })
    table.add('later', 'mark', [journal.path, 'later'])
    for (const latch of latches) latch.open()
    await until('they have run', () => table.acknowledged.length === 3)
    expect(node.stats().state).toBe('paused')
    expect(kinds(table)).toEqual(['acknowledge', 'acknowledge', 'acknowledge'])
    await node.command({ command: 'resume' })
    await journal.seen('later')
  })

  it('has every job run that it has delivered, while the node shuts down', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table)
    const { journal, latches } = three(table)
    await until('all are held', () => broker.leases.size === 3)
    const done = node.shutdown()
    await until('it drains', () => node.stats().state === 'draining')
    for (const latch of latches) latch.open()
    expect(await done).toEqual({ clean: true, requeued: 0, killed: 0 })
    expect(kinds(table)).toEqual(['acknowledge', 'acknowledge', 'acknowledge'])
    expect(journal.lines).toHaveLength(6)
  })

  it('is asked to take back what has not begun when the grace is over, and told what was killed', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table)
    const { journal } = three(table)
    await journal.seen('+0')
    await until('all are held', () => broker.leases.size === 3)
    expect(await node.shutdown({ grace: 50 })).toEqual({ clean: false, requeued: 2, killed: 1 })
    expect(kinds(table).toSorted()).toEqual(['republish', 'requeue', 'requeue'])
    expect(table.settlements.find(({ kind }) => kind === 'republish')).toMatchObject({ error: { code: 'ERR_PREFORK_NODE_SHUTDOWN' } })
  })

  it('has no job begin whose deadline has passed', async () => {
    const table = new JobTable()
    const journal = new Journal()
    table.moreOf = (id) => (id === 'late' ? { deadline: performance.now() - 1 } : {})
    await start(table)
    table.add('late', 'mark', [journal.path, 'late'])
    await until('it is settled', () => table.settlements.length > 0)
    expect(table.settlements[0]).toMatchObject({ kind: 'republish', error: { code: 'ERR_PREFORK_EXPIRED' } })
    expect(journal.lines).toEqual([])
  })

  it('delivers no more jobs for those that wait for a rate limit', async () => {
    const table = new JobTable()
    const { node, broker } = await start(table)
    const journal = new Journal()
    await node.command({ command: 'rate_limit', task: 'mark', limit: '1/h' })
    for (let index = 0; index < 8; index++) table.add(`j${index}`, 'mark', [journal.path, index])
    await until('the first has run', () => table.acknowledged.length === 1)
    await until('there is no room', () => broker.leases.size === 3)
    await until('it was looked for more', () => broker.looks > 50)
    expect(broker.leases.size).toBe(3)
    await node.command({ command: 'rate_limit', task: 'mark', limit: null })
    await until('all have run', () => table.acknowledged.length === 8)
  })
})

describe('a broker that tries jobs again itself', () => {
  const settle = async (task: string, args: unknown[], options: Partial<NodeOptions>, maxAttempts: number): Promise<Settlement> => {
    const table = new JobTable()
    await start(table, options)
    table.add('x', task, args, { maxAttempts })
    await until('it is settled', () => table.settlements.length > 0)
    return table.settlements[0]!
  }

  it.each([
    ['fails', 'fail', ['alas'], {}, { why: 'failed', reason: 'failed', error: { message: 'alas' } }],
    ['was lost too often', 'killSelf', ['SIGKILL'], { maxLosses: 1 }, { why: 'lost', reason: 'lost', error: { code: 'ERR_PREFORK_WORKER_LOST' } }],
    ['is of an unknown task', 'nope', [], {}, { why: 'unknown_task', reason: 'unknown_task', error: { code: 'ERR_PREFORK_TASK_NOT_FOUND' } }],
    ['can never run', 'letters', [], {}, { why: 'untried', reason: 'refused', error: { code: 'ERR_PREFORK_STREAM' } }],
  ])('is told of a job that %s, with the error, and whether it has an attempt left', async (_what, task, args, options, { why, reason, error }) => {
    const again = await settle(task, args, options, 2)
    expect(again).toMatchObject({ kind: 'republish', why, error, counts: { attempt: 2 } })
    const last = await settle(task, args, options, 1)
    expect(last).toMatchObject({ kind: 'dead-letter', reason, error })
  })
})

describe('a delivery', () => {
  it('may be decoded by its broker, and tell its task more', async () => {
    const table = new JobTable()
    table.moreOf = () => ({ decode: () => ({ task: 'reportDelivery', args: [], context: 'given' }), about: { origin: 'a table', attempt: 99 } })
    const { node } = await start(table)
    const seen: unknown[] = []
    node.onEvent((event) => {
      if (event.type === 'task.progress') seen.push(event.value)
    })
    table.add('x', 'not looked at')
    await until('it has reported', () => seen.length === 1)
    expect(seen).toEqual([
      { id: 'x', context: 'given', delivery: { origin: 'a table', redelivered: false, attempt: 1, losses: 0, requeues: 0, queue: 'jobs' } },
    ])
  })

  it('that its broker cannot decode is dead, and the next one runs', async () => {
    const table = new JobTable()
    table.moreOf = (id) =>
      id !== 'x'
        ? {}
        : {
            decode: () => {
              throw new Error('no such thing')
            },
          }
    await start(table)
    table.add('x', 'echo', [], { maxAttempts: 1 })
    table.add('y', 'echo')
    await until('both are settled', () => table.settlements.length === 2)
    expect(table.dead.map(({ settlement }) => settlement)).toMatchObject([{ reason: 'undecodable', error: { message: 'no such thing' } }])
  })

  it('with a deadline is ended before it, however often its worker died', async () => {
    const table = new JobTable()
    const journal = new Journal()
    await start(table, { cancelGrace: 200 })
    const deadline = performance.now() + 3_000
    table.moreOf = () => ({ deadline })
    table.add('x', 'dieLateThenSpin', [journal.path, 1_000])
    await until('it is settled', () => table.settlements.length === 1)
    expect(table.settlements[0]).toMatchObject({ kind: 'republish', why: 'failed', error: { name: expect.stringMatching(/TimeLimitError$/) } })
    // It comes again at once.
    expect(journal.lines.slice(0, 2)).toEqual(['+1', '+2'])
  })
})
