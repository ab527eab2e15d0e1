import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createPublisher, type PublisherOptions } from '../../src/amqp/index.js'
import type { Publisher } from '../../src/amqp/publishing/publisher.js'
import { admin, isolatedTopology, newName, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

withRabbit('the publisher', () => {
  const { queue, queues, keep, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(cleanUp)
  afterAll(() => proxy.close())
  const publisher = async (options: PublisherOptions = {}): Promise<Publisher> => keep(await createPublisher({ url: RABBITMQ_URL, queue, ...options }))

  it('waits for the first connection up to connectTimeout, and for later ones without a limit', async () => {
    const { port } = new URL(proxy.url)
    proxy.shut()
    expect(await publisher({ url: proxy.url, connectTimeout: 300 }).catch((reason: unknown) => reason)).toMatchObject({
      name: 'BrokerError',
      message: expect.stringMatching(
        new RegExp(
          `^RabbitMQ at amqp://guest:\\*\\*\\*@127\\.0\\.0\\.1:${port}/ could not be reached within 300 ms: .+\\. Is it running there\\? The option 'url' `,
        ),
      ),
      cause: { name: 'Error' },
    })
    const waiting = publisher({ url: proxy.url, connectTimeout: 10_000 })
    proxy.open()
    await waiting
    const brief = await publisher({ url: proxy.url, connectTimeout: 2_000 })
    proxy.shut()
    await until('it knows', () => !brief.connected)
    await new Promise((resolve) => setTimeout(resolve, 2_200))
    proxy.open()
    await brief.publish('a', [])
  })

  it('a full queue refuses the job', async () => {
    const { onChannel, close } = await admin()
    const full = newName()
    queues.add(full)
    await onChannel((channel) => channel.assertQueue(full, { arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } }))
    const out = await publisher({ queue: full, declare: false })
    await out.publish('a', [])
    await expect(out.publish('a', [])).rejects.toMatchObject({
      name: 'PublishError',
      stored: 'no',
      message: expect.stringContaining(`refused the message for the queue '${full}'`),
    })
    await close()
  })

  it('a connection that is lost during the close does not delay it', async () => {
    const out = await createPublisher({ url: proxy.url, queue })
    const CHANNEL_CLOSE = [20, 40] as const
    let cut = false
    proxy.before(...CHANNEL_CLOSE, () => {
      if (!cut) proxy.cut()
      cut = true
    })
    await out.close()
    expect(cut).toBe(true)
  })
})

withRabbit('calls', () => {
  const { queue, keep, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(cleanUp)
  afterAll(() => proxy.close())
  const publisher = async (options: PublisherOptions = {}): Promise<Publisher> => keep(await createPublisher({ url: RABBITMQ_URL, queue, ...options }))

  it('are rejected as not published when RabbitMQ does not confirm the job in time', async () => {
    const out = await publisher({ url: proxy.url })
    proxy.muteBroker()
    const silent = out.call('a', [], { timeout: 300 })
    await expect(silent).rejects.toMatchObject({ code: 'ERR_PREFORK_PUBLISH', stored: 'no', message: expect.stringContaining('could not be reached') })
    proxy.flow()
    const first = out.call('a', [], { timeout: 2_000 })
    await expect(first).rejects.toMatchObject({ code: 'ERR_PREFORK_CALL_TIMEOUT' })
    proxy.muteBroker()
    await expect(out.call('a', [], { timeout: 300 })).rejects.toMatchObject({
      code: 'ERR_PREFORK_PUBLISH',
      stored: 'unknown',
      message: expect.stringContaining("The call of 'a' was given up after 300 ms: RabbitMQ did not confirm the job"),
    })
    proxy.flow()
  })
})
