import { afterEach, expect, it } from 'vitest'
import { AmqpBroker } from '../../src/amqp/amqp-broker.js'
import { boundedByCapacity, higherFirst, returnedOfLost } from './deliveries.js'
import { admin, DeliveryCollector, isolatedTopology, job, newName, type Overrides, removeQueues, until, withRabbit } from './rabbit.js'

withRabbit('deliveries', () => {
  const topology = isolatedTopology()
  const { queue, broker, settings, keep, cleanUp } = topology
  afterEach(cleanUp)

  boundedByCapacity(topology, ['classic'])

  higherFirst(topology, ['classic'])

  returnedOfLost(topology, ['classic'])

  it('with an empty message_id have no id', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    await node.publish(job(queue, ''))
    node.consume(1, collector.receive)
    await until('it came', () => collector.all.length === 1)
    expect(collector.all[0]).toMatchObject({ id: undefined, redelivered: false })
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

  it('an exchange that exists as something else is an error that names it', async () => {
    const { onChannel, close } = await admin()
    const [control, events] = [newName(), newName()]
    await onChannel(async (channel) => {
      await channel.assertExchange(control, 'direct')
      await channel.assertExchange(events, 'direct')
    })
    const refused = keep(new AmqpBroker(settings({ controlExchange: control, eventExchange: events }), 'node-1')).start()
    await expect(refused).rejects.toMatchObject({
      name: 'BrokerError',
      message: expect.stringContaining(`The exchange '${control}' exists, but not as a durable fanout exchange: name another, or delete it.`),
    })
    await removeQueues([], [control, events])
    await close()
  })
})
