import { afterEach, expect, it } from 'vitest'
import { AmqpBroker } from '../../src/amqp/broker.js'
import type { OutgoingJob } from '../../src/node/broker.js'
import type { Settlement } from '../../src/runtime/delivery.js'
import { admin, DeliveryCollector, first, isolatedTopology, newName, type Overrides, until, withRabbit } from './rabbit.js'

const job = (queue: string, id: string, more: Partial<OutgoingJob> = {}): OutgoingJob => ({
  id,
  queue,
  body: Buffer.from(`body of ${id}`),
  headers: {},
  counts: first,
  ...more,
})
const acknowledge: Settlement = { kind: 'acknowledge' }

withRabbit('deliveries', () => {
  const { queue, queues, broker, settings, keep, cleanUp } = isolatedTopology()
  afterEach(cleanUp)

  it('have the headers of the job, and are removed when acknowledged', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    const expiresAt = Date.now() + 60_000
    await node.publish(
      job(queue, 'a', {
        headers: {
          contentType: 'application/msgpack',
          contentEncoding: 'gzip',
          softTimeLimit: 1_500,
          timeLimit: 4_000,
          maxAttempts: 5,
          retryLost: 2,
          backoff: { kind: 'exponential', delay: 100, maxDelay: 5_000, jitter: 0.5 },
          priority: 3,
          correlationId: 'c',
          replyTo: 'r',
          expiresAt,
        },
        counts: { attempt: 2, losses: 1, requeues: 4 },
        history: [{ attempt: 1, at: 5, node: 'n', outcome: 'failed', error: 'Error: x' }],
      }),
    )
    await until('one is ready', async () => (await node.depth()) === 1)
    node.consume(1, collector.receive)
    const delivery = await collector.take('a')
    expect(delivery).toMatchObject({
      id: 'a',
      queue,
      redelivered: false,
      countedHere: false,
      counts: { attempt: 2, losses: 1, requeues: 4 },
      headers: {
        contentType: 'application/msgpack',
        contentEncoding: 'gzip',
        schemaVersion: 1,
        softTimeLimit: 1_500,
        timeLimit: 4_000,
        maxAttempts: 5,
        retryLost: 2,
        backoff: { kind: 'exponential', delay: 100, maxDelay: 5_000, jitter: 0.5 },
        priority: 3,
        correlationId: 'c',
        replyTo: 'r',
        expiresAt,
        history: [{ attempt: 1, at: 5, node: 'n', outcome: 'failed', error: 'Error: x' }],
      },
    })
    expect(delivery.body.toString()).toBe('body of a')
    expect(await delivery.settle(acknowledge)).toEqual({ settled: true, published: false })
    // A second settlement has the result of the first: nothing is sent.
    expect(await delivery.settle({ kind: 'requeue' })).toEqual({ settled: true, published: false })
    await node.close()
    const again = await broker()
    expect(await again.depth()).toBe(0)
  })

  it('of publishers in other languages: headers of a wrong type count as absent, a hard limit not above the soft one is the soft one plus a second', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      const headers = {
        soft_timeout_s: 3,
        hard_timeout_s: 2,
        attempt: 'x',
        max_attempts: -1,
        backoff: 'no',
        history: [1, { outcome: 'odd' }],
        schema_version: 'two',
        traceparent: '00-a',
      }
      channel.sendToQueue(queue, Buffer.from('{}'), { headers, contentType: 'application/json' })
      await channel.checkQueue(queue)
    })
    await close()
    node.consume(1, collector.receive)
    await until('it came', () => collector.all.length === 1)
    const [delivery] = collector.all
    expect(delivery).toMatchObject({
      id: undefined,
      counts: first,
      headers: { softTimeLimit: 3_000, timeLimit: 4_000, maxAttempts: undefined, backoff: undefined, history: [], schemaVersion: Number.NaN },
    })
    // Unknown headers stay on the message.
    await delivery!.settle({ kind: 'republish', delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] })
    await until('it came again', () => collector.all.length === 2)
    await collector.all[1]!.settle({ kind: 'requeue' })
    await until('it came a third time', () => collector.all.length === 3)
    expect(collector.all[2]).toMatchObject({ redelivered: true, counts: { attempt: 2, losses: 0, requeues: 0 } })
    const error = { name: 'TypeError', message: 'm', stack: 's', code: 'C' }
    await collector.all[2]!.settle({ kind: 'dead-letter', reason: 'failed', error, counts: { attempt: 2, losses: 3, requeues: 0 }, history: [] })
    const after = await admin()
    const dead = await after.onChannel((channel) => channel.get(`${queue}.dlq`, { noAck: true }))
    await after.close()
    expect((dead || undefined)?.properties.headers).toMatchObject({
      traceparent: '00-a',
      attempt: 2,
      losses: 3,
      dead_reason: 'failed',
      dead_queue: queue,
      dead_node: 'node-1',
      dead_error_name: 'TypeError',
      dead_error_message: 'm',
      dead_error_stack: 's',
      dead_error_code: 'C',
    })
  })

  it('with an empty message_id have no id', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    await node.publish(job(queue, ''))
    node.consume(1, collector.receive)
    await until('it came', () => collector.all.length === 1)
    expect(collector.all[0]).toMatchObject({ id: undefined, redelivered: false })
  })

  it.each(['quorum', 'classic'] as const)('%s: never more than the capacity are unsettled, also while it changes', async (queueType) => {
    const node = await broker({ queueType })
    const collector = new DeliveryCollector()
    for (let i = 0; i < 30; i++) await node.publish(job(queue, `j${i}`))
    const held = (): number => collector.all.length - settled
    let settled = 0
    const settle = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) expect((await collector.all[settled++]!.settle(acknowledge)).settled).toBe(true)
    }
    const consumption = node.consume(3, collector.receive)
    await until('3 are held', () => held() === 3)
    consumption.setCapacity(7)
    await until('7 are held', () => held() === 7)
    await consumption.pause()
    consumption.setCapacity(2)
    consumption.resume()
    // Those held stay: none is delivered again. The number falls to 2 and no further.
    await settle(5)
    await until('2 are held', () => held() === 2)
    await settle(2)
    await until('2 others are held', () => held() === 2)
    expect(collector.all.length).toBe(9)
    await consumption.pause()
    await settle(2)
    consumption.setCapacity(5)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(held()).toBe(0)
    consumption.resume()
    await until('5 are held', () => held() === 5)
    while (settled < 30) {
      await until('another came', () => held() > 0)
      expect(held()).toBeLessThanOrEqual(5)
      await settle(1)
    }
    expect(collector.ids.toSorted()).toEqual(Array.from({ length: 30 }, (_, i) => `j${i}`).toSorted())
    expect(collector.all.every((each) => !each.redelivered)).toBe(true)
    expect(await node.depth()).toBe(0)
  })

  it('a delay is kept, and a long one does not hold back a short one', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    const at = new Map<string, number>()
    node.consume(10, (delivery) => {
      at.set(delivery.id!, Date.now())
      collector.receive(delivery)
    })
    const start = Date.now()
    await node.publish(job(queue, 'long', { delay: 60_000 }))
    await node.publish(job(queue, 'middle', { delay: 900 }))
    await node.publish(job(queue, 'short', { delay: 150 }))
    await node.publish(job(queue, 'now'))
    await (await collector.take('middle')).settle({ kind: 'republish', delay: 250, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] })
    const before = Date.now()
    await (await collector.take('middle', 1)).settle(acknowledge)
    expect(collector.ids).toEqual(['now', 'short', 'middle', 'middle'])
    expect(at.get('short')! - start).toBeGreaterThanOrEqual(149)
    expect(at.get('middle')! - start).toBeGreaterThanOrEqual(900 + 249)
    expect(before).toBeGreaterThan(start)
    expect(collector.of('middle')[1]!.counts.attempt).toBe(2)
  })

  it.each(['quorum', 'classic'] as const)('%s: higher priorities come first', async (queueType) => {
    const node = await broker({ queueType, priorityLevels: 3 })
    for (const [id, priority] of [
      ['low', 0],
      ['mid', 1],
      ['high', 2],
      ['above', 9],
      ['none', undefined],
    ] as const)
      await node.publish(job(queue, id, { headers: { priority } }))
    await until('all are ready', async () => (await node.depth()) === 5)
    const collector = new DeliveryCollector()
    node.consume(queueType === 'quorum' ? 3 : 1, (delivery) => {
      collector.receive(delivery)
      void delivery.settle(acknowledge)
    })
    await until('all came', () => collector.all.length === 5)
    const place = (id: string): number => collector.ids.indexOf(id)
    if (queueType === 'classic') expect(collector.ids).toEqual(['high', 'above', 'mid', 'low', 'none'])
    // A queue for each level, consumed concurrently: in order within each.
    else expect([place('high') < place('above'), place('low') < place('none')]).toEqual([true, true])
    expect(new Set(collector.all.map((each) => each.queue))).toEqual(new Set([queue]))
  })

  it('several queues are consumed together', async () => {
    const other = newName()
    queues.add(other)
    const node = await broker({ queues: [queue, other] })
    const collector = new DeliveryCollector()
    node.consume(2, collector.receive)
    await node.publish(job(queue, 'a'))
    await node.publish(job(other, 'b'))
    expect((await collector.take('a')).queue).toBe(queue)
    expect((await collector.take('b')).queue).toBe(other)
    expect((await Promise.all(collector.all.map((each) => each.settle(acknowledge)))).every((each) => each.settled)).toBe(true)
  })

  it('a job that expires in the queue, or is delivered too often, is dead-lettered', async () => {
    const node = await broker()
    await node.publish(job(queue, 'late', { headers: { expiresAt: Date.now() + 50 } }))
    const { onChannel, close } = await admin()
    await until('it is dead', () => onChannel(async (channel) => (await channel.checkQueue(`${queue}.dlq`)).messageCount === 1))
    await node.publish(job(queue, 'again'))
    let handed = 0
    node.consume(1, (delivery) => {
      handed++
      void delivery.settle({ kind: 'requeue' })
    })
    await until('the other is dead, too', () => onChannel(async (channel) => (await channel.checkQueue(`${queue}.dlq`)).messageCount === 2))
    expect(handed).toBe(21)
    await close()
  })

  it('a queue that cannot be counted or declared does not fail other requests', async () => {
    const node = await broker()
    const { onChannel, close } = await admin()
    await onChannel((channel) => channel.deleteQueue(queue))
    // Of another type.
    await onChannel((channel) => channel.assertQueue(`${queue}.delay.300ms`, { durable: true }))
    const results = await Promise.allSettled([
      node.depth(),
      // Due after the queue is declared again: RabbitMQ retries a dead-lettering to a missing queue only minutes later.
      node.publish(job(queue, 'a', { delay: 1_500 })),
      node.publish(job(queue, 'b', { delay: 250 })),
      node.publish(job(queue, 'c', { delay: 2_000 })),
      node.publish(job(queue, 'd')),
    ])
    await close()
    expect(results.map((each) => each.status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect((results[2] as PromiseRejectedResult).reason).toMatchObject({
      message: expect.stringContaining("300ms' exists, but not as a queue of jobs that wait 300 ms"),
    })
    await until('all are there', async () => (await node.depth().catch(() => 0)) === 3)
  })

  it('an error explains what to do when the queue exists with other arguments', async () => {
    await broker({ queueType: 'classic' })
    const other = keep(new AmqpBroker(settings(), 'node-2'))
    await expect(other.start()).rejects.toThrow(/The queue 'test\..*' exists, but not as the quorum queue of dead letters\. Use the queueType/)
    const asItIs = await broker({ declare: false })
    expect(await asItIs.depth()).toBe(0)
  })

  it('a node with fewer levels of priority than there are is warned; one with as many, or more, is not', async () => {
    const { onChannel, close } = await admin()
    const warningsOf = async (priorityLevels: number, other: Overrides = {}): Promise<string[]> => {
      const node = keep(new AmqpBroker(settings({ priorityLevels, ...other }), `node-${priorityLevels}`))
      const warnings: string[] = []
      node.on('warning', (message) => warnings.push(message))
      await node.start()
      await new Promise((resolve) => setTimeout(resolve, 200))
      return warnings.filter((each) => each.includes('priorityLevels'))
    }
    expect(await warningsOf(3)).toEqual([])
    await onChannel(async (channel) => {
      channel.sendToQueue(`${queue}.p2`, Buffer.from('{}'))
      await until('it is there', async () => (await channel.checkQueue(`${queue}.p2`)).messageCount === 1)
    })
    await close()
    expect(await warningsOf(2)).toEqual([
      expect.stringContaining(
        `The queue '${queue}' has more levels of priority than this node's priorityLevels (2): there is '${queue}.p2', where 1 jobs wait now.`,
      ),
    ])
    expect(await warningsOf(2, { declare: false })).toHaveLength(1)
    expect(await warningsOf(3)).toEqual([])
    expect(await warningsOf(10)).toEqual([])
  })

  it('an error explains what to do when the login is refused, or the queue does not exist', async () => {
    const { url } = settings()
    const wrong = keep(new AmqpBroker(settings({ url: url.replace('guest:guest', 'guest:wrong') }), 'node-1'))
    const refusal = await wrong.start().catch((error: Error) => error.message)
    expect(refusal).toMatch(/refused the login: check user and password/)
    expect(refusal).not.toContain('wrong')
    await expect(keep(new AmqpBroker(settings({ url: `${url}nowhere` }), 'node-1')).start()).rejects.toThrow(/refused the virtual host/)
    await expect(keep(new AmqpBroker(settings({ declare: false, queues: [newName()] }), 'node-1')).start()).rejects.toThrow(
      /declare: false says not to make it/,
    )
  })
})
