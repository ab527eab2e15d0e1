import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { AmqpChannel } from '../../src/amqp/connection/client.js'
import { declareQueue } from '../../src/amqp/topology/topology.js'
import type { Settlement } from '../../src/runtime/delivery.js'
import { NO_ERROR } from '../fixtures/memory-broker.js'
import {
  acknowledge,
  admin,
  DeliveryCollector,
  dropped,
  first,
  gone,
  isolatedTopology,
  job,
  RABBITMQ_URL,
  settled,
  until,
  untilStored,
  withRabbit,
} from './rabbit.js'
import { consumedOn, jobGoesOn, watchChannels } from './running-job.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

const again: Settlement = { kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] }

withRabbit('a consumer is restored', () => {
  const { queue, broker, settings, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    await watchChannels()
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(cleanUp)
  afterAll(() => proxy.close())

  it.each(['quorum', 'classic'] as const)(
    '%s: the connection is cut: what runs keeps running, its late acknowledgement settles no other job',
    async (queueType) => {
      const node = await broker({ url: proxy.url, queueType })
      const collector = new DeliveryCollector()
      const seen: string[] = []
      node.on('disconnected', () => seen.push('disconnected'))
      node.on('connected', () => seen.push('connected'))
      node.consume(2, collector.receive)
      await node.publish(job(queue, 'long'))
      await node.publish(job(queue, 'unbegun'))
      const [long, unbegun] = [await collector.take('long'), await collector.take('unbegun')]
      proxy.cut()
      expect(await gone(long)).toBe(true)
      // Both are delivered again, with the same tags as on the old channel.
      const [longAgain, unbegunAgain] = [await collector.take('long', 1), await collector.take('unbegun', 1)]
      expect([longAgain.redelivered, unbegunAgain.redelivered]).toEqual([true, true])
      // Settlements of the old deliveries are dropped: nothing is acknowledged, published or requeued.
      expect(await long.settle(acknowledge)).toEqual(dropped)
      expect(await unbegun.settle(again)).toEqual(dropped)
      await node.publish(job(queue, 'next'))
      expect(collector.of('next').length).toBe(0)
      expect(await longAgain.settle(acknowledge)).toEqual(settled)
      expect(await (await collector.take('next')).settle(acknowledge)).toEqual(settled)
      expect(await unbegunAgain.settle(acknowledge)).toEqual(settled)
      expect(seen).toEqual(['disconnected', 'connected'])
      await node.close()
      const after = await broker({ queueType })
      expect(await after.depth()).toBe(0)
      expect(collector.ids).toEqual(['long', 'unbegun', 'long', 'unbegun', 'next'])
    },
  )

  it('a job that ends while the connection is lost: a settlement that publishes is not sent, since the message is redelivered', async () => {
    const node = await broker({ url: proxy.url })
    const collector = new DeliveryCollector()
    node.consume(1, collector.receive)
    await node.publish(job(queue, 'a'))
    const a = await collector.take('a')
    proxy.shut()
    await gone(a)
    expect(await a.settle(again)).toEqual(dropped)
    expect(
      await a.settle({
        kind: 'dead-letter',
        reason: 'failed',
        error: { name: 'E', message: '', stack: undefined, code: undefined },
        counts: first,
        history: [],
      }),
    ).toEqual(dropped)
    await expect(node.depth()).rejects.toThrow(/cannot be asked just now/)
    proxy.open()
    const b = await collector.take('a', 1)
    expect(b.counts.attempt).toBe(1)
    expect(await b.settle(again)).toEqual({ settled: true, published: true })
    expect((await collector.take('a', 2)).counts.attempt).toBe(2)
  })

  it.each(['quorum', 'classic'] as const)(
    '%s: the queue is deleted: it is declared and consumed again, and a late acknowledgement settles no other job',
    async (queueType) => {
      const node = await broker({ queueType })
      const collector = new DeliveryCollector()
      const warnings: string[] = []
      node.on('warning', (message) => warnings.push(message))
      node.consume(2, collector.receive)
      await node.publish(job(queue, 'long'))
      const long = await collector.take('long')
      const { onChannel, close } = await admin()
      await onChannel((channel) => channel.deleteQueue(queue))
      await gone(long)
      // The queue may be missing for a moment: a publication declares it again, or is refused by the queue that is being deleted.
      await untilStored(() => node.publish(job(queue, 'next')))
      const next = await collector.take('next')
      expect(await long.settle(acknowledge)).toEqual(dropped)
      expect(await next.settle({ kind: 'requeue' })).toEqual(settled)
      expect(await (await collector.take('next', 1)).settle(acknowledge)).toEqual(settled)
      expect(warnings.some((each) => each.includes(`cancelled the consumer of the queue '${queue}'`))).toBe(true)
      expect(await onChannel(async (channel) => (await channel.checkQueue(queue)).messageCount)).toBe(0)
      await close()
    },
  )

  // With classic queues: running-job.long.test.ts.
  jobGoesOn(['quorum'], () => proxy)

  it('a channel error: only the deliveries of its queue are delivered again', async () => {
    const other = `${queue}.other`
    const node = await broker({ queues: [queue, other] })
    const collector = new DeliveryCollector()
    node.consume(2, collector.receive)
    await node.publish(job(queue, 'a'))
    await node.publish(job(other, 'b'))
    const [a, b] = [await collector.take('a'), await collector.take('b')]
    // An acknowledgement of a tag that is not held is a channel error.
    consumedOn.get(queue)!.ack({ fields: { deliveryTag: 999 } })
    await gone(a)
    expect(b.gone.aborted).toBe(false)
    const aAgain = await collector.take('a', 1)
    expect(await a.settle(acknowledge)).toEqual(dropped)
    expect(await aAgain.settle(acknowledge)).toEqual(settled)
    expect(await b.settle(acknowledge)).toEqual(settled)
    expect(collector.ids.toSorted()).toEqual(['a', 'a', 'b'])
  })

  it('a retry whose queue was deleted meanwhile, and a dead letter whose queue was deleted, are stored', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    node.consume(1, collector.receive)
    await node.publish(job(queue, 'a'))
    const a = await collector.take('a')
    const { onChannel, close } = await admin()
    await onChannel((channel) => channel.deleteQueue(`${queue}.dlq`))
    const error = { name: 'Error', message: 'no', stack: undefined, code: undefined }
    expect(await a.settle({ kind: 'dead-letter', reason: 'failed', error, counts: first, history: [] })).toEqual({ settled: true, published: true })
    expect(await onChannel(async (channel) => (await channel.checkQueue(`${queue}.dlq`)).messageCount)).toBe(1)
    await close()
  })

  it('a queue that was deleted and declared again at once: a consumer that receives nothing is replaced', async () => {
    const node = await broker()
    const warnings: string[] = []
    node.on('warning', (message) => warnings.push(message))
    const collector = new DeliveryCollector()
    node.consume(2, collector.receive)
    const { onChannel, close } = await admin()
    // Once in a hundred times RabbitMQ tells the consumer in time, which then consumes again, or loses nothing: that shows nothing.
    let round = 0
    do {
      warnings.length = 0
      await onChannel(async (channel) => {
        await until('it consumes', async () => (await channel.checkQueue(queue)).consumerCount === 1)
        await channel.deleteQueue(queue)
        await declareQueue(channel as unknown as AmqpChannel, queue, settings().shape)
      })
      // RabbitMQ counts the first two as delivered, as many as the prefetch: to a consumer that does not hear of them.
      const ids = ['a', 'b', 'c'].map((id) => `${id}${round}`)
      for (const id of ids) await node.publish(job(queue, id))
      await until('all are delivered', async () => {
        for (const each of collector.all) await each.settle(acknowledge)
        await node.depth()
        return ids.every((id) => collector.ids.includes(id))
      })
    } while ((warnings.length === 0 || warnings.some((warning) => warning.startsWith('RabbitMQ cancelled the consumer'))) && ++round < 5)
    await close()
    expect(warnings).toEqual([expect.stringContaining('its consumer is replaced')])
  })

  it('a start waits for a broker that cannot be reached', async () => {
    proxy.shut()
    const starting = broker({ url: proxy.url })
    setTimeout(() => proxy.open(), 300)
    const node = await starting
    expect(node.connected).toBe(true)
  })
})
