/** Closing when the other end does not answer. */

import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { ReconnectingConnection } from '../../../src/amqp/connection/reconnecting-connection.js'
import { BrokerError, createControlClient, createPublisher } from '../../../src/amqp/index.js'
import { NO_ERROR } from '../../fixtures/memory-broker.js'
import { DeliveryCollector, first, isolatedTopology, RABBITMQ_URL, until, withRabbit } from '../rabbit.js'
import { type TcpProxy, tcpProxy } from '../tcp-proxy.js'

const CONNECTION_OPEN = [10, 40] as const
const CONNECTION_CLOSE = [10, 50] as const
const PUBLISH = [60, 40] as const
const never = new Promise<void>(() => {})

/** Long before missing heartbeats would end the connection. */
const soon = async (closing: Promise<unknown>): Promise<unknown> => Promise.race([closing.then(() => 'closed'), delay(20_000, 'still closing', { ref: false })])

withRabbit('closes in time:', () => {
  const { queue, controlExchange, eventExchange, broker, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(async () => {
    proxy.cut()
    await cleanUp()
  })
  afterAll(() => proxy.close())

  it('a publisher whose peer is silent', async () => {
    const out = await createPublisher({ url: proxy.url, queue })
    await out.publish('add', [1, 2])
    proxy.freeze()
    expect(await soon(out.close())).toBe('closed')
  })

  it('a publisher with a heartbeat in its URL notices by itself that its peer is silent', async () => {
    const out = await createPublisher({ url: `${proxy.url}?heartbeat=1`, queue })
    proxy.freeze()
    await until('it notices', () => !out.connected)
    await out.close()
  })

  it('a control client whose peer is silent, while it listens', async () => {
    const operator = await createControlClient({ url: proxy.url, controlExchange, eventExchange })
    await operator.listen(() => {})
    proxy.freeze()
    expect(await soon(operator.close())).toBe('closed')
  })

  it('a connection that opens after the close; its loss then is no uncaught exception', async () => {
    let opening = false
    let closing = false
    let open = (): void => {}
    proxy.before(...CONNECTION_OPEN, () => {
      opening = true
      return new Promise((resolve) => {
        open = resolve
      })
    })
    const connection = new ReconnectingConnection({ url: proxy.url }, 'test of a late connection')
    const started = connection.start().catch((error: unknown) => error)
    await until('the handshake is held', () => opening)
    await connection.close(new BrokerError('closed'))
    expect(await started).toMatchObject({ message: 'closed' })
    proxy.before(...CONNECTION_CLOSE, () => {
      closing = true
      return never
    })
    open()
    await until('it closes the late connection', () => closing)
    proxy.cut()
    // An `error` event without a listener would fail the test run here.
    await delay(100)
    expect(connection.current).toBeUndefined()
  })

  it('a node whose peer is silent; its unsettled deliveries are redelivered', async () => {
    const node = await broker({ url: proxy.url })
    const collector = new DeliveryCollector()
    const consumption = node.consume(2, collector.receive)
    await node.publish({ id: 'held', queue, body: Buffer.from('held'), headers: {}, counts: first })
    await collector.take('held')
    proxy.freeze()
    void consumption.stop()
    expect(await soon(node.close())).toBe('closed')
    proxy.cut()
    const after = await broker()
    const next = new DeliveryCollector()
    after.consume(1, next.receive)
    expect((await next.take('held')).redelivered).toBe(true)
  })

  it('a node whose publications RabbitMQ does not read any more; acknowledgements are sent, a job without a confirm is redelivered', async () => {
    const node = await broker({ url: proxy.url })
    const collector = new DeliveryCollector()
    node.consume(3, collector.receive)
    for (const id of ['retried', 'done', 'last']) await node.publish({ id, queue, body: Buffer.from(id), headers: {}, counts: first })
    const [retried, done, last] = [await collector.take('retried'), await collector.take('done'), await collector.take('last')]
    // As during an alarm: RabbitMQ stops reading the publishing connection only.
    let held = 0
    proxy.before(...PUBLISH, () => {
      held++
      return never
    })
    const again = Promise.resolve(
      retried.settle({ kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { ...first, attempt: 2 }, history: [] }),
    ).catch((error: unknown) => error)
    await until('the publication is held', () => held > 0)
    done.settle({ kind: 'acknowledge' })
    const closing = node.close()
    last.settle({ kind: 'acknowledge' })
    expect(await soon(closing)).toBe('closed')
    expect(await again).toMatchObject({ code: 'ERR_PREFORK_PUBLISH', stored: 'unknown' })
    proxy.cut()
    const after = await broker()
    const next = new DeliveryCollector()
    after.consume(3, next.receive)
    const back = await next.take('retried')
    expect([back.counts.attempt, back.redelivered]).toEqual([1, true])
    expect(next.ids).toEqual(['retried'])
  })
})
