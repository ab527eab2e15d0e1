import { decodeReply } from 'prefork/runtime'
import { describe, expect, it } from 'vitest'
import { MemoryBroker, MemoryServer, NO_HEADERS, storedMessage } from '../fixtures/memory-broker.js'
import { eventsOf, runsOf, settled, sharedNode, startNode } from '../fixtures/nodes.js'
import { until } from '../fixtures/support.js'

const shared = sharedNode()

const reply = (body: Buffer | undefined) => decodeReply(body!)

describe('a job that succeeds', () => {
  it('receives its arguments, kwargs last, its context and its delivery', async () => {
    const farm = await shared()
    const { server } = farm
    server.add('echoAll', [1, 'two'], { id: 'args', kwargs: { three: 3 }, replyTo: 'me' })
    server.add('shown', [], { id: 'shown', context: { user: 5 }, counts: { attempt: 2, losses: 1, requeues: 4 }, replyTo: 'me' })
    await settled(farm)
    const answers = new Map(server.replies.map(({ id, body }) => [id, reply(body)]))
    expect(answers.get('args')).toEqual({ ok: true, value: [1, 'two', { three: 3 }] })
    expect(answers.get('shown')).toEqual({
      ok: true,
      value: {
        id: 'shown',
        attempt: 1,
        context: { user: 5 },
        delivery: { redelivered: false, attempt: 2, losses: 1, requeues: 4, queue: 'jobs' },
      },
    })
  })

  it('is not answered without replyTo, and gets an id if its message has none', async () => {
    const farm = await shared()
    farm.server.add('echo', [1], { id: null })
    farm.server.add('echo', [1], { id: null })
    await settled(farm)
    expect(farm.server.replies).toEqual([])
    expect(new Set(farm.node.snapshot().tasks.map(({ id }) => id)).size).toBe(2)
    expect(farm.node.stats().totals).toMatchObject({ received: 2, succeeded: 2, recognised: 0 })
  })

  it('with an empty message id counts as one without: two of them are distinct', async () => {
    const farm = await shared()
    const message = { id: '', redelivered: true, replyTo: 'me' }
    farm.server.add('echo', [1], message)
    await settled(farm)
    farm.server.add('echo', [2], message)
    await settled(farm)
    expect(farm.server.dead).toEqual([])
    expect(farm.server.replies.map(({ body }) => reply(body))).toEqual([1, 2].map((value) => ({ ok: true, value })))
    expect(new Set(farm.node.snapshot().tasks.map(({ id }) => id)).size).toBe(2)
    expect(farm.node.stats().totals).toMatchObject({ received: 2, succeeded: 2, recognised: 0 })
  })
})

describe('a job whose result cannot be sent', () => {
  it.each([
    ['unsendable', 'value is a function'],
    ['map', 'result.value is a Map'],
  ])('has succeeded, and its caller gets an error that says so: %s', async (task, why) => {
    const warnings: unknown[] = []
    const warn = (details: object, text: string) => 'job' in details && warnings.push([details.job, text])
    const farm = await startNode({ logger: { trace() {}, debug() {}, info() {}, warn, error() {} } })
    const id = farm.server.add(task, [], { replyTo: 'me' })
    await settled(farm)
    expect(farm.server.acknowledged).toEqual([id])
    expect(farm.server.replies).toMatchObject([{ id, ok: false }])
    expect(reply(farm.server.replies[0]!.body)).toMatchObject({
      ok: false,
      error: {
        name: 'SerializationError',
        code: 'ERR_PREFORK_SERIALIZATION',
        message: expect.stringMatching(new RegExp(`^The job has succeeded, but its result cannot be sent: .*${why}`)),
      },
    })
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.started', 'task.succeeded'])
    expect(farm.node.stats().totals).toMatchObject({ succeeded: 1, failed: 0, retried: 0 })
    expect(farm.node.snapshot().tasks).toMatchObject([{ status: 'success' }])
    expect(warnings).toEqual([[id, 'job succeeded, but its result cannot be sent']])
  })

  it('has succeeded when no reply is expected: the log warns', async () => {
    const warnings: unknown[] = []
    const warn = (details: object, text: string) => 'job' in details && warnings.push([details.job, text])
    const farm = await startNode({ logger: { trace() {}, debug() {}, info() {}, warn, error() {} } })
    const id = farm.server.add('unsendable', [])
    await settled(farm)
    expect(farm.server.acknowledged).toEqual([id])
    expect(farm.node.stats().totals).toMatchObject({ succeeded: 1, failed: 0, retried: 0 })
    expect(farm.node.stats().workers).toMatchObject([{ failed: 0 }])
    expect(warnings).toEqual([[id, 'job succeeded, but its result cannot be sent']])
  })
})

describe('a job that fails', () => {
  it('is retried with its attempt counted and its history, and succeeds', async () => {
    const farm = await shared()
    const { server, node } = farm
    const id = server.add('failUntil', [3], { replyTo: 'me' })
    await settled(farm)
    expect(server.acknowledged).toEqual([id])
    expect(server.republished.map(({ settlement }) => settlement)).toMatchObject([
      { delay: 1, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [{ attempt: 1, outcome: 'failed', node: node.name, error: 'Error: not yet' }] },
      { delay: 1, counts: { attempt: 3 }, history: [{ attempt: 1 }, { attempt: 2 }] },
    ])
    expect(server.replies).toHaveLength(1)
    expect(eventsOf(farm, id)).toEqual([
      ...['task.received', 'task.started', 'task.retried'],
      ...['task.received', 'task.started', 'task.retried'],
      ...['task.received', 'task.started', 'task.succeeded'],
    ])
    expect(runsOf(farm, id, 'task.retried')).toEqual([
      [1, expect.any(Number)],
      [1, expect.any(Number)],
    ])
    expect(node.stats().totals).toMatchObject({ succeeded: 1, retried: 2, failed: 0 })
    expect(node.stats().workers).toMatchObject([{ done: 1, retried: 2, failed: 0 }])
  })

  it('becomes a dead letter after its last attempt, with error, stack and history; its caller gets an error', async () => {
    const farm = await shared()
    const { server } = farm
    const id = server.add('fail', ['alas'], { maxAttempts: 2, replyTo: 'me' })
    await settled(farm)
    expect(server.dead).toMatchObject([
      {
        message: { id, counts: { attempt: 2 } },
        settlement: {
          reason: 'failed',
          error: { name: 'Error', message: 'alas', code: 'E_FAIL', stack: expect.stringContaining('farm-tasks.js') },
          history: [
            { attempt: 1, outcome: 'failed' },
            { attempt: 2, outcome: 'failed' },
          ],
        },
      },
    ])
    expect(server.acknowledged).toEqual([])
    expect(server.replies.map(({ ok, body }) => [ok, reply(body)])).toMatchObject([[false, { ok: false, error: { message: 'alas', code: 'E_FAIL' } }]])
    expect(eventsOf(farm, id).at(-1)).toBe('task.failed')
    expect(farm.node.stats().totals).toMatchObject({ failed: 1, retried: 1, deadLettered: 1 })
  })

  it('takes its attempts from its message, else from its task, else from the node', async () => {
    const farm = await startNode({ maxAttempts: 1, taskDefaults: { failUntil: { maxAttempts: 2 } } })
    const { server } = farm
    server.add('fail', [], { id: 'node' })
    server.add('failUntil', [9], { id: 'task' })
    server.add('failUntil', [9], { id: 'message', maxAttempts: 4 })
    await until('all are dead', () => server.dead.length === 3)
    expect(Object.fromEntries(server.dead.map(({ message }) => [message.id, message.counts.attempt]))).toEqual({ node: 1, task: 2, message: 4 })
  })

  it('at its hard limit is retried too, and its worker is replaced', async () => {
    const farm = await startNode({ timeLimit: 150 })
    const { server } = farm
    const id = server.add('spinFor', [60_000], { maxAttempts: 2 })
    await until('it is dead', () => server.dead.length === 1)
    expect(server.dead[0]!.settlement).toMatchObject({
      reason: 'failed',
      error: { name: 'TimeLimitError', code: 'ERR_PREFORK_TIME_LIMIT' },
      history: [{ outcome: 'hard_timeout' }, { outcome: 'hard_timeout' }],
    })
    expect(eventsOf(farm, id).filter((type) => type === 'task.hard_timeout')).toHaveLength(2)
    expect(farm.node.snapshot().tasks.map(({ status }) => status)).toEqual(['hard_timeout', 'hard_timeout'])
  })

  it('at its soft limit has a SoftTimeLimitError; a hard limit that is not above it is read as one second more', async () => {
    const farm = await shared()
    const { server } = farm
    const id = server.add('spinFor', [60_000], { softTimeLimit: 100, timeLimit: 50, maxAttempts: 1 })
    await until('it is dead', () => server.dead.length === 1)
    expect(server.dead[0]!.settlement).toMatchObject({ error: { name: 'SoftTimeLimitError' }, history: [{ outcome: 'soft_timeout' }] })
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.started', 'task.soft_timeout', 'task.failed'])
    expect(farm.node.stats().workers).toMatchObject([{ id: 1 }])
  })

  it('with a SerializationError that the task threw is retried', async () => {
    const farm = await shared()
    farm.server.add('failWith', ['ERR_PREFORK_SERIALIZATION'], { maxAttempts: 2 })
    await until('it is dead', () => farm.server.dead.length === 1)
    expect(farm.server.dead[0]!.settlement).toMatchObject({ reason: 'failed', history: [{}, {}] })
  })
})

describe('a message that cannot become a job', () => {
  it('is dead-lettered at once when it cannot be decoded, and blocks no other', async () => {
    const farm = await shared()
    const { server } = farm
    server.store({
      id: 'junk',
      body: Buffer.from([0xc1, 1, 2]),
      headers: { ...NO_HEADERS, replyTo: 'me' },
      counts: { attempt: 1, losses: 0, requeues: 0 },
      redelivered: false,
    })
    const id = server.add('echo', [1])
    await settled(farm)
    expect(server.dead).toMatchObject([{ message: { id: 'junk' }, settlement: { reason: 'undecodable', error: { name: 'UndecodableError' } } }])
    expect(server.acknowledged).toEqual([id])
    expect(server.replies).toMatchObject([{ id: 'junk', ok: false }])
  })

  it('is dead-lettered as refused when the pool rejects its limits', async () => {
    const farm = await shared()
    farm.server.add('echo', [1], { timeLimit: -5 })
    await settled(farm)
    expect(farm.server.dead).toMatchObject([{ settlement: { reason: 'refused', error: { message: expect.stringContaining('timeLimit') } } }])
  })

  it('is dead-lettered without a run when it has expired', async () => {
    const farm = await shared()
    const id = farm.server.add('echo', [1], { expiresAt: Date.UTC(2000), replyTo: 'me' })
    await settled(farm)
    const error = { name: 'ExpiredError', code: 'ERR_PREFORK_EXPIRED', message: 'It expired at 2000-01-01T00:00:00.000Z, before it began.' }
    expect(farm.server.dead).toMatchObject([{ message: { id }, settlement: { reason: 'expired', error } }])
    expect(reply(farm.server.replies[0]!.body)).toMatchObject({ ok: false, error })
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.failed'])
  })

  it('waits when its task is unknown, and is dead-lettered after that time with the names that this node knows', async () => {
    const farm = await startNode({ unknownTaskTimeout: 5 })
    const { server } = farm
    const id = server.add('ecko', [], { maxAttempts: 1 })
    await until('it is dead', () => server.dead.length === 1)
    expect(server.republished).toMatchObject([{ settlement: { why: 'unknown_task', delay: 5, counts: { attempt: 1, unknownFor: 5 } } }])
    expect(server.dead[0]!.settlement).toMatchObject({
      reason: 'unknown_task',
      error: { name: 'TaskNotFoundError', message: expect.stringMatching(/did you mean 'echo'\?.*killSelf/) },
      counts: { attempt: 1, losses: 0, requeues: 0 },
      history: [{ attempt: 1, outcome: 'unknown_task' }],
    })
    expect(server.dead[0]!.settlement.history).toHaveLength(1)
    expect(eventsOf(farm, id)).toEqual(['task.received', 'task.retried', 'task.received', 'task.failed'])
  })

  it("is dead-lettered at once when its task is unknown with unknownTask: 'dead-letter'", async () => {
    const farm = await startNode({ unknownTask: 'dead-letter' })
    farm.server.add('ecko')
    await settled(farm)
    expect(farm.server.dead).toMatchObject([{ message: { counts: { attempt: 1 } }, settlement: { reason: 'unknown_task' } }])
    expect(farm.server.republished).toEqual([])
  })
})

it('the runtime republishes an uncounted redelivery with its count before it runs, and dead-letters it after too many', async () => {
  const server = new MemoryServer()
  const farm = await startNode({}, server, new MemoryBroker(server, { countedHere: true }))
  const store = (id: string, requeues: number): void => {
    const added = server.add('shown', [], { id, counts: { requeues }, replyTo: 'me' })
    expect(added).toBe(id)
  }
  farm.broker.cut()
  store('again', 2)
  store('enough', 20)
  for (const message of server.ready) message.redelivered = true
  farm.broker.reconnect()
  await settled(farm)
  expect(server.republished).toMatchObject([{ id: 'again', settlement: { delay: 0, counts: { attempt: 1, losses: 0, requeues: 3 } } }])
  expect(server.dead).toMatchObject([{ message: { id: 'enough' }, settlement: { reason: 'redelivered', error: { code: 'ERR_PREFORK_REDELIVERED' } } }])
  expect(server.acknowledged).toEqual(['again'])
  const shown = reply(server.replies.find(({ id }) => id === 'again')?.body)
  expect(shown).toMatchObject({ value: { delivery: { requeues: 3 } } })
})

it('the runtime counts an uncounted redelivery before it decodes it: decoding may be what ends the node', async () => {
  const server = new MemoryServer()
  const farm = await startNode({}, server, new MemoryBroker(server, { countedHere: true }))
  server.store({ ...storedMessage('bomb', 'shown', [], {}), body: Buffer.of(0xc1), redelivered: true })
  await settled(farm)
  expect(server.republished).toMatchObject([{ id: 'bomb', settlement: { why: 'untried', counts: { requeues: 1 } } }])
})
