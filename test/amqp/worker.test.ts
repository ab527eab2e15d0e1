/** A node on RabbitMQ, end to end: publisher, broker, pool and back. */
import {
  createControlClient,
  createPublisher,
  createWorker,
  type FarmNode,
  listDeadLetters,
  type Publisher,
  retryDeadLetters,
  type WorkerOptions,
} from 'prefork/amqp'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { FarmEvent } from '../../src/runtime/report/report.js'
import { fixture } from '../fixtures/pools.js'
import { Journal, Latch } from '../fixtures/support.js'
import { admin, isolatedTopology, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

withRabbit('a node', () => {
  const { queue, controlExchange, eventExchange, keep, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  const nodes: FarmNode[] = []
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.shutdown({ grace: 0 })))
    await cleanUp()
  })
  afterAll(() => proxy.close())

  const start = async (options: Partial<WorkerOptions> = {}): Promise<FarmNode> => {
    const node = await createWorker({
      url: RABBITMQ_URL,
      queue,
      controlExchange,
      eventExchange,
      tasks: fixture('farm-tasks.js'),
      maxWorkers: 1,
      backoff: { kind: 'fixed', delay: 100 },
      scaleCheckInterval: 50,
      heartbeatInterval: 200,
      ...options,
    })
    nodes.push(node)
    return node
  }
  const publisher = async (url = RABBITMQ_URL): Promise<Publisher> => keep(await createPublisher({ url, queue }))

  it('runs what is published, and answers calls', async () => {
    await start()
    const out = await publisher()
    expect(await out.call('echo', ['x'])).toBe('x')
    expect(await out.call('shown', [], { context: { tenant: 't' }, messageId: 'm' })).toMatchObject({ id: 'm', context: { tenant: 't' } })
    expect(await out.call('failUntil', [3])).toBe(3)
    await expect(out.call('fail', ['alas'], { maxAttempts: 2 })).rejects.toMatchObject({ message: 'alas', code: 'E_FAIL' })
    const [dead] = await listDeadLetters({ url: RABBITMQ_URL, queue })
    expect(dead).toMatchObject({
      reason: 'failed',
      message: { task: 'fail', args: ['alas'] },
      error: { message: 'alas', code: 'E_FAIL' },
      counts: { attempt: 2 },
    })
    expect(dead?.history.map((each) => each.outcome)).toEqual(['failed', 'failed'])
  })

  it('a job that kills each of its workers is dead-lettered; a retry is one more requeue', async () => {
    await start()
    const out = await publisher()
    await out.publish('killSelf', ['SIGKILL'], { messageId: 'poison' })
    const dead = () => listDeadLetters({ url: RABBITMQ_URL, queue })
    await until('it is dead', async () => (await dead()).length === 1)
    expect((await dead())[0]).toMatchObject({ id: 'poison', reason: 'lost' })
    expect(await out.call('echo', [1])).toBe(1)
    expect(await retryDeadLetters({ url: RABBITMQ_URL, queue })).toEqual({ retried: 1 })
    await until('it is dead again', async () => (await dead()).length === 1)
    expect((await dead())[0]?.counts.requeues).toBe(1)
  }, 60_000)

  it('undecodable bodies are dead-lettered, and other jobs run', async () => {
    await start()
    const out = await publisher()
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      channel.sendToQueue(queue, Buffer.from([0xc1]), { contentType: 'application/msgpack' })
      channel.sendToQueue(queue, Buffer.from('{"task":5}'), { contentType: 'application/json' })
      channel.sendToQueue(queue, Buffer.from('{"task":"echo","args":["json"]}'), { contentType: 'application/json', messageId: 'json' })
      await channel.checkQueue(queue)
    })
    await close()
    expect(await out.call('echo', [1])).toBe(1)
    await until('both are dead', async () => (await listDeadLetters({ url: RABBITMQ_URL, queue })).length === 2)
    expect((await listDeadLetters({ url: RABBITMQ_URL, queue })).map((each) => each.reason)).toEqual(['undecodable', 'undecodable'])
  })

  it('the connection is cut while jobs run: each runs to its end and is acknowledged, none twice on this node', async () => {
    const node = await start({ url: proxy.url, concurrency: 4 })
    const out = await publisher()
    const ids = await out.publishMany(
      'sleep',
      Array.from({ length: 4 }, () => [600]),
    )
    await until('all run', () => node.stats().running === 4)
    proxy.cut()
    await until('all are done', () => node.stats().totals.succeeded === 4)
    await until('nothing is held', async () => {
      const { onChannel, close } = await admin()
      const { messageCount } = await onChannel((channel) => channel.checkQueue(queue))
      await close()
      return messageCount === 0 && node.stats().held === 0 && node.stats().connected
    })
    expect(node.stats().totals).toMatchObject({ succeeded: 4, failed: 0, lost: 0, deadLettered: 0 })
    expect(ids.length).toBe(4)
  })

  it('executes commands over the control exchange, and emits events', async () => {
    const node = await start({ name: 'one', secret: 'correct horse' })
    const client = keep(await createControlClient({ url: RABBITMQ_URL, controlExchange, eventExchange, secret: 'correct horse' }))
    const events: FarmEvent[] = []
    const stop = await client.listen((event) => events.push(event))
    const out = await publisher()
    await out.call('echo', [1], { messageId: 'watched' })
    await until(
      'its events came',
      () => events.some((event) => event.type === 'task.succeeded' && event.id === 'watched') && events.some((event) => event.type === 'node.heartbeat'),
    )
    const answers = []
    for await (const answer of client.ask(['one'], { command: 'stats' }, { timeout: 20_000 })) answers.push(answer)
    expect(answers).toMatchObject([{ node: 'one', ok: true, value: { node: 'one', state: 'running', connected: true, queues: [queue] } }])
    for await (const answer of client.ask(['one'], { command: 'shutdown' }, { timeout: 20_000 })) expect(answer.ok).toBe(true)
    expect((await node.done).clean).toBe(true)
    await until('it has emitted it', () => events.some((event) => event.type === 'node.down'))
    await stop()
  })

  it('with more levels of priority than prefetch, jobs of each level run', async () => {
    const out = keep(await createPublisher({ url: RABBITMQ_URL, queue, priorityLevels: 3 }))
    const journal = new Journal()
    const gate = new Latch()
    await out.publish('holdSync', [gate.path, journal.path, 'first'], { priority: 2 })
    // Longer than RabbitMQ takes to deliver the next job of a level.
    for (const priority of [0, 1, 2]) await out.publishMany('sleepThenMark', new Array(15).fill([40, journal.path, priority]), { priority })
    const node = await start({ priorityLevels: 3, prefetchPerWorker: 1 })
    await journal.seen('+first')
    await until('one of each level is held', () => node.stats().held === 3)
    gate.open()
    await journal.seen('-first')
    await until('all are done', () => node.stats().totals.succeeded === 46)
    const lines = journal.lines.slice(journal.lines.indexOf('-first') + 1)
    // Eight jobs start before one of the lowest level, and one of the level between.
    expect(lines.indexOf('0')).toBeLessThanOrEqual(9)
    expect(lines.indexOf('1')).toBeLessThanOrEqual(8)
  }, 60_000)

  it('explains what is wrong with an option, and leaves no process', async () => {
    await expect(createWorker({ tasks: './x.js', queu: 'x' } as never)).rejects.toThrow(/Unknown option 'queu' of createWorker; did you mean 'queue'\?/)
    await expect(createWorker({ tasks: './x.js', minWorker: 1 } as never)).rejects.toThrow(/did you mean 'minWorkers'/)
    await expect(createWorker({ tasks: './x.js', queue: 'a', queues: ['b'] })).rejects.toThrow(/'queue' and option 'queues' were both given/)
    const refusal = await start({ url: RABBITMQ_URL.replace('guest:guest', 'guest:wrong') }).catch((error: Error) => error.message)
    expect(refusal).toMatch(/refused the login/)
    // The URL in the error has no added parameters.
    expect(refusal).not.toContain('heartbeat')
  })
})
