/** A peer that is gone without a word, as behind a firewall that drops the connection. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createPublisher } from '../../../src/amqp/index.js'
import { isolatedTopology, RABBITMQ_URL, withRabbit } from '../rabbit.js'
import { type TcpProxy, tcpProxy } from '../tcp-proxy.js'

withRabbit('a peer that is silent', () => {
  const { queue, keep, broker, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(async () => {
    proxy.cut()
    await cleanUp()
  })
  afterAll(() => proxy.close())

  // Missing heartbeats tell after 30 to 45 s.
  it('is found out within the time of a publication, which is then published over the next connection', async () => {
    const out = keep(await createPublisher({ url: proxy.url, queue }))
    proxy.freezePresent()
    expect(await out.publish('add', [1, 2], { messageId: 'm' })).toBe('m')
    expect(await (await broker()).depth()).toBe(1)
  }, 120_000)
})
