/** The broker of a queue without a node: what it claims, delivers and settles. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { NodeHooks } from '../../../src/queue/broker/hooks.js'
import { QueueBroker } from '../../../src/queue/broker/queue-broker.js'
import { MemoryDatabase } from '../../../src/queue/store/memory/memory-database.js'
import type { MemorySession } from '../../../src/queue/store/memory/memory-session.js'
import { MemoryStore } from '../../../src/queue/store/memory/memory-store.js'
import type { NewJob, StoreCondition, StoreSession } from '../../../src/queue/store/store.js'
import type { Delivery } from '../../../src/runtime/delivery.js'
import type { Command } from '../../../src/runtime/report/commands.js'
import { until } from '../../fixtures/until.js'
import { newJob } from '../store/contract.js'

const COUNTS = { attempt: 1, losses: 0, requeues: 0 }
const ERROR = { name: 'Error', message: 'no', stack: undefined, code: undefined }

/** A store whose sessions a test may look at. */
class OpenStore extends MemoryStore {
  readonly sessions: MemorySession[] = []
  /** Tells the broker of a condition. */
  condition: (condition: StoreCondition, error?: Error) => void = () => {}
  /** Answers of claims wait until this resolves. */
  claimed: Promise<unknown> = Promise.resolve()

  override onCondition(listener?: (condition: StoreCondition, error?: Error) => void): () => void {
    if (listener !== undefined) this.condition = listener
    return () => {}
  }

  override async openSession(info: Parameters<MemoryStore['openSession']>[0]): Promise<StoreSession> {
    const session = (await super.openSession(info)) as MemorySession
    const claim = session.claim.bind(session)
    session.claim = async (...args) => {
      const answer = await claim(...args)
      await this.claimed
      return answer
    }
    this.sessions.push(session)
    return session
  }
}

const start = async ({ capacity = 10, jobs = [] as Partial<NewJob>[], receive = undefined as ((delivery: Delivery) => void) | undefined } = {}) => {
  const store = new OpenStore(new MemoryDatabase())
  const warnings: string[] = []
  const connections: string[] = []
  const commands: Command[] = []
  const fatal: Error[] = []
  const deliveries: Delivery[] = []
  const broker = new QueueBroker(store, {
    queues: ['q'],
    name: 'node',
    schedulers: true,
    maxResultSize: 100,
    hooks: new NodeHooks({ store: 'memory:', node: 'node', queues: ['q'] }, [], []),
    onFatal: (error) => fatal.push(error),
  })
  broker.on('warning', (message) => warnings.push(message))
  for (const event of ['connected', 'disconnected'] as const) broker.on(event, () => connections.push(event))
  broker.control.onCommand(async (command) => commands.push(command))
  await broker.connect()
  onTestFinished(() => broker.close())
  await broker.start()
  await store.add(jobs.map(newJob))
  const consumption = broker.consume(capacity, receive ?? ((delivery) => deliveries.push(delivery)))
  const delivered = (count: number): Promise<unknown> => until(`${count} are delivered`, () => deliveries.length === count)
  const state = async (id: string): Promise<string | undefined> => (await store.read('q', id))?.state
  return { store, broker, consumption, deliveries, delivered, commands, warnings, connections, fatal, state }
}

const three = ['a', 'b', 'c'].map((id) => ({ id }))

/** Claims come in later turns. */
const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
}

describe('claims', () => {
  it('go back alone when the runtime refuses one', async () => {
    const received: string[] = []
    const receive = ({ id = '' }: Delivery): void => {
      if (received.push(id) === 1) throw new Error('It cannot be taken.')
    }
    const { store, state, warnings } = await start({ receive })
    await store.add(three.map(newJob))
    await until('all are delivered', () => received.length === 4)
    expect(received).toEqual(['a', 'b', 'c', 'a'])
    expect(warnings).toEqual(['The store refuses: It cannot be taken.'])
    expect(await state('a')).toBe('active')
  })

  it('end a job whose dependency left an answer that cannot be read, and no other', async () => {
    const { store, delivered, deliveries, state } = await start({ jobs: [{ id: 'child' }, { id: 'parent', dependsOn: ['child'] }, { id: 'other' }] })
    await delivered(2)
    const child = (await store.read('q', 'child'))!
    // 0xc1 begins no value of MessagePack.
    await store.sessions[0]!.settle({ ...child, token: 1 }, { as: 'completed', answer: new Uint8Array([0xc1]) })
    await until('the parent has ended', async () => (await state('parent')) === 'failed')
    expect(await store.read('q', 'parent')).toMatchObject({
      reason: 'undecodable',
      error: { message: expect.stringContaining('it depends on cannot be read') },
    })
    expect(deliveries.map(({ id }) => id)).toEqual(['child', 'other'])
    expect(await state('other')).toBe('active')
  })

  it('are never more than there is room for, and follow a settlement', async () => {
    const { deliveries, delivered, consumption, store, broker } = await start({ capacity: 1, jobs: three })
    await delivered(1)
    await turns()
    expect((await store.counts(['q'])).q).toMatchObject({ active: 1, waiting: 2 })
    expect(await broker.depth()).toBe(2)
    await store.queue('q', { paused: true })
    expect(await broker.depth()).toBe(0)
    await store.queue('q', { paused: false })
    expect(await deliveries[0]!.settle({ kind: 'acknowledge' }, { ok: true, value: 1 })).toEqual({ settled: true, published: false })
    await delivered(2)
    consumption.setCapacity(2)
    await delivered(3)
  })

  it('are asked for while a claim is under way, when the last got all and half of the room is free', async () => {
    const { deliveries, delivered, store } = await start({ capacity: 4, jobs: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => ({ id })) })
    await delivered(4)
    let answer = (): void => {}
    store.claimed = new Promise<void>((resolve) => {
      answer = resolve
    })
    const settle = async (index: number): Promise<void> => {
      await deliveries[index]!.settle({ kind: 'acknowledge' }, { ok: true, value: 1 })
      await turns()
    }
    const active = async (): Promise<unknown> => (await store.counts(['q'])).q!.active
    await settle(0)
    expect(await active()).toBe(4)
    await settle(1)
    expect(await active()).toBe(3)
    await settle(2)
    expect(await active()).toBe(4)
    await settle(3)
    expect(await active()).toBe(3)
    answer()
    await delivered(8)
    expect((await store.counts(['q'])).q).toMatchObject({ active: 4, waiting: 0 })
  })

  it('end with a pause, and go on when it ends', async () => {
    const { deliveries, delivered, consumption, store } = await start({ jobs: three })
    await delivered(3)
    await consumption.pause()
    await store.add([newJob({ id: 'd' })])
    await turns()
    expect((await store.counts(['q'])).q).toMatchObject({ active: 3, waiting: 1 })
    consumption.resume()
    await delivered(4)
    expect(deliveries.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
  })

  it('whose answer comes after the pause go back as well', async () => {
    const started = await start()
    let answer = (): void => {}
    started.store.claimed = new Promise<void>((resolve) => {
      answer = resolve
    })
    await started.store.add([newJob({ id: 'a' })])
    await until('it is claimed', async () => (await started.state('a')) === 'active')
    const paused = started.consumption.pause()
    answer()
    await paused
    await until('it waits again', async () => (await started.state('a')) === 'waiting')
    expect(started.deliveries).toEqual([])
  })
})

describe('a delivery', () => {
  it.each([
    { losses: 0, requeues: 1, returned: 1 },
    { losses: 1, requeues: 0, returned: 1 },
    { losses: 0, requeues: 2, returned: 2 },
    { losses: 2, requeues: 0, returned: 2 },
    { losses: 1, requeues: 1, returned: 2 },
    { losses: 9, requeues: 9, returned: 2 },
  ])('of a job with $losses losses and $requeues requeues asks to run alone: $returned of 2', async ({ losses, requeues, returned }) => {
    const { deliveries, delivered } = await start({ jobs: [{ id: 'a' }] })
    await delivered(1)
    expect(deliveries[0]!.returned).toBe(0)
    const counts = { ...COUNTS, losses, requeues }
    await deliveries[0]!.settle({ kind: 'republish', why: 'lost', error: ERROR, delay: 0, counts, history: [] })
    await delivered(2)
    expect(deliveries[1]).toMatchObject({ counts, returned })
  })

  it('has what the job was added with', async () => {
    const options = { timeLimit: 7, softTimeLimit: 6, maxAttempts: 5, backoff: { kind: 'fixed', delay: 3 }, retryLost: 2 } as const
    const expiresAt = Date.now() + 60_000
    const { deliveries, delivered } = await start({ jobs: [{ id: 'a', options, priority: 9, expiresAt }] })
    await delivered(1)
    const [delivery] = deliveries
    expect(delivery).toMatchObject({ id: 'a', queue: 'q', counts: COUNTS, redelivered: false, countedHere: false, keepsAnswer: true, endWhenGone: true })
    expect(delivery!.headers).toMatchObject({ ...options, priority: 9, expiresAt, history: [], replyTo: undefined })
    expect(delivery!.key).toMatch(/^\d+$/)
    expect(delivery!.results).toBeUndefined()
  })

  it.each([
    [{ kind: 'revoked' }, 'cancelled', 'cancelled'],
    [{ kind: 'requeue' }, 'waiting', undefined],
    [{ kind: 'republish', why: 'failed', error: ERROR, delay: 60_000, counts: COUNTS, history: [] }, 'delayed', undefined],
    [{ kind: 'dead-letter', reason: 'lost', error: ERROR, counts: COUNTS, history: [] }, 'failed', 'lost'],
    [{ kind: 'dead-letter', reason: 'expired', error: ERROR, counts: COUNTS, history: [] }, 'expired', 'expired'],
  ] as const)('settled by %j leaves its job %s', async (settlement, expected, reason) => {
    const { deliveries, delivered, consumption, store } = await start({ jobs: [{ id: 'a' }] })
    await delivered(1)
    await consumption.pause()
    const { kind } = settlement
    expect(await deliveries[0]!.settle(settlement)).toEqual({ settled: true, published: kind === 'republish' || kind === 'dead-letter' })
    expect(await store.read('q', 'a')).toMatchObject({ state: expected, reason })
  })

  it('whose answer cannot be stored completes its job with an error, and a warning', async () => {
    const { deliveries, delivered, warnings, state } = await start({ jobs: three })
    await delivered(3)
    await deliveries[0]!.settle({ kind: 'acknowledge' }, { ok: true, value: 'x'.repeat(200) })
    await deliveries[1]!.settle({ kind: 'acknowledge' }, { ok: true, value: () => {} })
    await deliveries[2]!.settle({ kind: 'acknowledge' }, { ok: true, value: undefined })
    expect([await state('a'), await state('b'), await state('c')]).toEqual(['completed', 'completed', 'completed'])
    expect(warnings.length).toBe(2)
    expect(warnings[0]).toContain("The result of the job 'a' of the queue 'q' is not stored.")
  })
})

describe('a session that is lost', () => {
  it('has counted a loss for each beginning of a job', async () => {
    const { deliveries, delivered, store } = await start({ jobs: [{ id: 'a' }] })
    await delivered(1)
    deliveries[0]!.began!(1)
    deliveries[0]!.began!(2)
    store.sessions[0]!.lose()
    deliveries[0]!.ended!()
    await delivered(2)
    expect(deliveries[1]!.counts).toMatchObject({ losses: 2, requeues: 0 })
  })

  it('takes its deliveries along, and another is opened', async () => {
    const { deliveries, delivered, store, broker, connections } = await start({ capacity: 2, jobs: three })
    await delivered(2)
    const [first, second] = deliveries
    first!.began!(1)
    store.sessions[0]!.lose()
    expect(first!.gone.aborted && second!.gone.aborted).toBe(true)
    expect(await first!.settle({ kind: 'acknowledge' }, { ok: true, value: 1 })).toEqual({ settled: false, published: false })
    await until('it is connected again', () => broker.connected)
    expect(connections).toEqual(['connected', 'disconnected', 'connected'])
    // They take up room until the node says that they have ended.
    await turns()
    expect(deliveries.length).toBe(3)
    second!.ended!()
    await delivered(4)
    expect(deliveries.slice(2).map(({ id, counts, redelivered }) => [id, counts.losses, counts.requeues, redelivered])).toEqual([
      ['a', 1, 0, true],
      ['b', 0, 1, true],
    ])
    expect(deliveries[2]!.key).toBe(first!.key)
  })
})

describe('a store', () => {
  it('that is locked is not connected until it is free', async () => {
    const { store, broker, connections, fatal } = await start()
    store.condition('locked')
    expect(broker.connected).toBe(false)
    store.condition('ok')
    expect(broker.connected).toBe(true)
    expect([connections, fatal]).toEqual([['connected', 'disconnected', 'connected'], []])
  })

  it('that is full is warned of', async () => {
    const { store, broker, warnings, connections } = await start()
    store.condition('full', new Error('ENOSPC'))
    store.condition('ok')
    expect(broker.connected).toBe(true)
    expect(warnings).toEqual([expect.stringContaining('ENOSPC')])
    expect(connections).toEqual(['connected'])
  })

  it.each(['corrupt', 'removed'] as const)('that is %s ends the node', async (condition) => {
    const { store, broker, fatal } = await start()
    store.condition(condition, new Error('gone'))
    expect(broker.connected).toBe(false)
    expect(fatal).toMatchObject([{ message: 'gone' }])
  })
})

describe('a cancellation', () => {
  it('ends the run by the key of the delivery', async () => {
    const { deliveries, delivered, store, commands } = await start({ jobs: [{ id: 'a' }] })
    await delivered(1)
    await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
    await until('the node is told', () => commands.length > 0)
    expect(commands).toEqual([{ command: 'revoke', key: deliveries[0]!.key, terminate: true }])
  })

  it('that comes before the delivery keeps it from the node', async () => {
    const { deliveries, store, commands, state } = await start()
    let answer = (): void => {}
    store.claimed = new Promise<void>((resolve) => {
      answer = resolve
    })
    await store.add([newJob({ id: 'a' })])
    await until('it is claimed', async () => (await state('a')) === 'active')
    await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
    await turns()
    answer()
    await until('it is cancelled', async () => (await state('a')) === 'cancelled')
    expect([deliveries, commands]).toEqual([[], []])
  })
})

it('gives back what is unsettled when it is closed', async () => {
  const database = new MemoryDatabase()
  const other = new MemoryStore(database)
  await other.open()
  const store = new MemoryStore(database)
  const hooks = new NodeHooks({ store: 'memory:', node: 'n', queues: ['q'] }, [], [])
  const broker = new QueueBroker(store, { queues: ['q'], name: 'n', schedulers: true, maxResultSize: 100, hooks, onFatal: () => {} })
  await broker.connect()
  await broker.start()
  await other.add([newJob({ id: 'a' })])
  const delivered = new Promise<Delivery>((resolve) => broker.consume(1, resolve))
  expect((await delivered).id).toBe('a')
  await broker.close()
  expect(await other.read('q', 'a')).toMatchObject({ state: 'waiting', counts: COUNTS })
  await other.close()
})
