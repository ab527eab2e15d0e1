/** A node on RabbitMQ, end to end: publisher, broker, pool and back. */
import { createControlClient, createWorker, listDeadLetters } from 'prefork/amqp'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { FarmEvent } from '../../src/runtime/report/report.js'
import { fixture } from '../fixtures/pools.js'
import { isolatedNodes } from './isolated-nodes.js'
import { admin, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

withRabbit('a node', () => {
  const { queue, controlExchange, eventExchange, keep, start, publisher } = isolatedNodes()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterAll(() => proxy.close())

  it('runs what is published, and answers calls', async () => {
    await start()
    const out = await publisher()
    expect(await out.call('echo', ['x'])).toBe('x')
    expect(await out.call('shown', [], { context: { tenant: 't' }, messageId: 'm' })).toMatchObject({ id: 'm', context: { tenant: 't' } })
    expect(await out.call('failUntil', [3])).toBe(3)
    await expect(out.call('fail', ['alas'], { maxAttempts: 2 })).rejects.toMatchObject({ message: 'alas', code: 'E_FAIL' })
    // The answer is sent first: the dead letter follows its confirmation.
    const dead = await until('it is dead-lettered', async () => (await listDeadLetters({ url: RABBITMQ_URL, queue }))[0])
    expect(dead).toMatchObject({
      reason: 'failed',
      message: { task: 'fail', args: ['alas'] },
      error: { message: 'alas', code: 'E_FAIL' },
      counts: { attempt: 2 },
    })
    expect(dead.history.map((each) => each.outcome)).toEqual(['failed', 'failed'])
  })

  // Its retry: worker.long.test.ts.
  it('a job that kills each of its workers is dead-lettered', async () => {
    await start({ maxLosses: 1 })
    const out = await publisher()
    await out.publish('killSelf', ['SIGKILL'], { messageId: 'poison' })
    const dead = () => listDeadLetters({ url: RABBITMQ_URL, queue })
    await until('it is dead', async () => (await dead()).length === 1)
    expect((await dead())[0]).toMatchObject({ id: 'poison', reason: 'lost' })
    expect(await out.call('echo', [1])).toBe(1)
  }, 60_000)

  it('a job of a new task waits until a node that knows it has started, with all its attempts', async () => {
    const old = await start({ tasks: fixture('second.js') })
    const out = await publisher()
    const answer = out.call('shown', [], { maxAttempts: 1, timeout: 60_000 })
    await until('it waits', () => old.stats().totals.retried === 1)
    await start()
    await old.shutdown()
    expect(await answer).toMatchObject({ attempt: 1, delivery: { attempt: 1, losses: 0, requeues: 0 } })
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
