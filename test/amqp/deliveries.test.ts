import { afterEach, expect, it } from 'vitest'
import { AmqpBroker } from '../../src/amqp/amqp-broker.js'
import type { Settlement } from '../../src/runtime/delivery.js'
import { NO_ERROR } from '../fixtures/memory-broker.js'
import { boundedByCapacity, higherFirst, returnedOfLost } from './deliveries.js'
import { admin, DeliveryCollector, first, isolatedTopology, newName, type OutgoingJob, until, withRabbit } from './rabbit.js'

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
  const topology = isolatedTopology()
  const { queue, queues, broker, settings, keep, cleanUp } = topology
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
    await delivery!.settle({ kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] })
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

  boundedByCapacity(topology, ['quorum'])

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
    await (await collector.take('middle')).settle({
      kind: 'republish',
      why: 'failed',
      error: NO_ERROR,
      delay: 250,
      counts: { attempt: 2, losses: 0, requeues: 0 },
      history: [],
    })
    const before = Date.now()
    await (await collector.take('middle', 1)).settle(acknowledge)
    expect(collector.ids).toEqual(['now', 'short', 'middle', 'middle'])
    expect(at.get('short')! - start).toBeGreaterThanOrEqual(149)
    expect(at.get('middle')! - start).toBeGreaterThanOrEqual(900 + 249)
    expect(before).toBeGreaterThan(start)
    expect(collector.of('middle')[1]!.counts.attempt).toBe(2)
  })

  higherFirst(topology, ['quorum'])

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
    await onChannel(async (channel) => {
      await channel.consume(queue, (message) => {
        handed++
        channel.nack(message!)
      })
      await until('the other is dead, too', async () => (await channel.checkQueue(`${queue}.dlq`)).messageCount === 2)
    })
    expect(handed).toBe(21)
    await close()
  })

  it.each(['quorum', 'classic'] as const)(
    '%s: say that they came back and how often, until a run has ended; what is requeued counts once',
    async (queueType) => {
      const node = await broker({ queueType })
      const settlements: Settlement[] = [
        ...Array.from({ length: 4 }, (): Settlement => ({ kind: 'requeue' })),
        { kind: 'republish', why: 'untried', error: NO_ERROR, delay: 0, counts: { ...first, requeues: 1 }, history: [] },
        { kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { ...first, attempt: 2, requeues: 1 }, history: [] },
        acknowledge,
      ]
      const seen: unknown[] = []
      node.consume(1, (delivery) => {
        seen.push([delivery.returned, delivery.redelivered, delivery.counts.requeues, delivery.headers.maxAttempts])
        void delivery.settle(settlements[seen.length - 1]!)
      })
      await node.publish(job(queue, 'a', { headers: { maxAttempts: 9 } }))
      await until('it has come for the last time', () => seen.length === settlements.length)
      expect(seen).toEqual([
        [0, false, 0, 9],
        [1, true, 0, 9],
        [1, true, 0, 9],
        [1, true, 0, 9],
        [1, true, 0, 9],
        [1, true, 1, 9],
        [0, false, 1, 9],
      ])
    },
  )

  returnedOfLost(topology, ['quorum'])

  it('an error explains what to do when the queue exists with other arguments', async () => {
    await broker({ queueType: 'classic' })
    const other = keep(new AmqpBroker(settings(), 'node-2'))
    await expect(other.start()).rejects.toThrow(/The queue 'test\..*' exists, but not as the quorum queue of dead letters\. Use the queueType/)
    const asItIs = await broker({ declare: false })
    expect(await asItIs.depth()).toBe(0)
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
