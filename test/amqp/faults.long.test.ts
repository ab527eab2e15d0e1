/** The faults that need a broker of their own: consumer_timeout, max_message_size and a restart. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPublisher } from '../../src/amqp/index.js'
import { throughFault } from './held-job.js'
import { type PrivateBroker, privateBroker } from './private-broker.js'
import { acknowledge, DeliveryCollector, dropped, first, gone, isolatedTopology, job, removeQueues, serverBinary, settled, withOwnServer } from './rabbit.js'

const withServer = withOwnServer('the faults that stop or restart a broker')

withServer('on a broker of its own', () => {
  let server: PrivateBroker
  beforeAll(async () => {
    server = await privateBroker(serverBinary!)
  }, 120_000)
  afterAll(() => server.remove(), 60_000)

  it.concurrent('consumer_timeout: the job keeps running, is delivered again and recognised, and its late acknowledgement is dropped', async () => {
    const { queue, broker, cleanUp } = isolatedTopology(server.url)
    const node = await broker()
    const collector = new DeliveryCollector()
    const warnings: string[] = []
    node.on('warning', (message) => warnings.push(message))
    node.consume(2, collector.receive)
    await node.publish(job(queue, 'long'))
    const long = await collector.take('long')
    await gone(long)
    const longAgain = await collector.take('long', 1)
    expect(longAgain).toMatchObject({ redelivered: true, id: 'long', counts: first })
    await node.publish(job(queue, 'other'))
    expect(await long.settle(acknowledge)).toEqual(dropped)
    expect(await (await collector.take('other')).settle(acknowledge)).toEqual(settled)
    expect(await longAgain.settle(acknowledge)).toEqual(settled)
    expect(warnings.some((each) => /held for longer than its consumer_timeout/.test(each))).toBe(true)
    await node.close()
    const after = await broker()
    expect(await after.depth()).toBe(0)
    await cleanUp()
  }, 60_000)

  // The timeout is 3 s: both tests wait for it concurrently.
  it.concurrent('consumer_timeout: a job that a worker runs completes, once', () => throughFault({ url: server.url, queueType: 'quorum' }, () => {}), 60_000)

  it('a user and a password beyond ASCII, percent-encoded in the URL, log in', async () => {
    const [user, password] = ['jürgen', 'pä%ß/漢:字']
    await server.ctl('add_user', user, password)
    await server.ctl('set_permissions', user, '.*', '.*', '.*')
    const url = server.url.replace('guest:guest', `${encodeURIComponent(user)}:${encodeURIComponent(password)}`)
    const { queue, keep, cleanUp } = isolatedTopology(server.url)
    expect(await keep(await createPublisher({ url, queue })).publish('a', [])).toMatch(/-/)
    await cleanUp()
    // rabbitmqctl starts an Erlang machine at each call.
  }, 180_000)

  it('a message that is too large closes the channel, and is the only one rejected', async () => {
    const { queue, keep, broker, cleanUp } = isolatedTopology(server.url)
    const node = await broker()
    const out = keep(await createPublisher({ url: server.url, queue }))
    const results = await Promise.allSettled([...Array(20).keys()].map((i) => out.publish('a', [Buffer.alloc(i === 7 ? 70_000 : 10)])))
    expect(results.flatMap((each, i) => (each.status === 'rejected' ? [i] : []))).toEqual([7])
    expect((results[7] as PromiseRejectedResult).reason).toMatchObject({
      stored: 'no',
      message: expect.stringMatching(/^The message has 70\d\d\d bytes; this RabbitMQ takes at most 65536/),
    })
    expect(await node.depth()).toBeGreaterThanOrEqual(19)
    await cleanUp()
  })

  it('a restart: published jobs are kept, held ones redelivered, the topology is restored', async () => {
    const { queue, controlExchange, eventExchange, broker } = isolatedTopology(server.url)
    const node = await broker()
    const collector = new DeliveryCollector()
    node.consume(1, collector.receive)
    await node.publish(job(queue, 'held'))
    await node.publish(job(queue, 'delayed', { delay: 1_000 }))
    await collector.take('held')
    await server.restart()
    const published = node.publish(job(queue, 'after'))
    expect(await (await collector.take('held', 1)).settle(acknowledge)).toEqual(settled)
    await published
    // A delivery before the last cut is void: the next one counts.
    const settle = async (id: string): Promise<void> => {
      for (let nth = 0; !(await (await collector.take(id, nth)).settle(acknowledge)).settled; nth++);
    }
    await Promise.all([settle('delayed'), settle('after')])
    await node.close()
    await removeQueues([queue], [controlExchange, eventExchange], server.url)
  }, 120_000)
})
