/** Jobs under one id, and the progress of calls, on RabbitMQ. */
import { createControlClient, createPublisher, createWorker, type FarmNode, type Publisher, type WorkerOptions } from 'prefork/amqp'
import { afterEach, expect, it } from 'vitest'
import { fixture } from '../fixtures/pools.js'
import { Journal } from '../fixtures/support.js'
import { admin, isolatedTopology, newName, RABBITMQ_URL, until, withRabbit } from './rabbit.js'

withRabbit('jobs under one id', () => {
  const { queue, queues, controlExchange, eventExchange, keep, cleanUp } = isolatedTopology()
  const nodes: FarmNode[] = []
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.shutdown({ grace: 0 })))
    await cleanUp()
  })
  const start = async (options: Partial<WorkerOptions> = { queue }): Promise<FarmNode> => {
    const tasks = fixture('farm-tasks.js')
    const node = await createWorker({ url: RABBITMQ_URL, controlExchange, eventExchange, tasks, maxWorkers: 1, ...options })
    nodes.push(node)
    return node
  }
  const publisher = async (to = queue): Promise<Publisher> => keep(await createPublisher({ url: RABBITMQ_URL, queue: to }))

  /** A consumer takes the message and is gone: RabbitMQ delivers it again, marked as redelivered. */
  const deliverOnce = async (from: string): Promise<void> => {
    const { onChannel, close } = await admin()
    await until('the message is there', () => onChannel(async (channel) => (await channel.get(from)) !== false))
    await close()
  }

  it('of two queues run both, though each was delivered before', async () => {
    const other = newName()
    queues.add(other)
    const journal = new Journal()
    for (const each of [queue, other]) {
      await (await publisher(each)).publish('mark', [journal.path, each], { messageId: 'daily' })
      await deliverOnce(each)
    }
    const node = await start({ queues: [queue, other] })
    await until('both have run', () => node.stats().totals.succeeded === 2)
    expect(journal.lines.sort()).toEqual([queue, other].sort())
    expect(node.stats().totals).toMatchObject({ received: 2, recognised: 0 })
  })

  it('of one queue run both, though each was delivered before', async () => {
    const journal = new Journal()
    const out = await publisher()
    for (const line of ['first', 'second']) {
      await out.publish('mark', [journal.path, line], { messageId: 'daily' })
    }
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      await until('both are there', async () => (await channel.checkQueue(queue)).messageCount === 2)
      for (let i = 0; i < 2; i++) await channel.get(queue)
    })
    await close()
    const node = await start()
    await until('both have run', () => node.stats().totals.succeeded === 2)
    expect(journal.lines.sort()).toEqual(['first', 'second'])
  })

  it('are ended by a revocation one at a time, whichever node meets it', async () => {
    const journal = new Journal()
    const out = await publisher()
    const all = [await start({ queue, name: 'one' }), await start({ queue, name: 'two' })]
    for (const node of all) await node.command({ command: 'revoke', id: 'daily' })
    const client = keep(await createControlClient({ url: RABBITMQ_URL, controlExchange, eventExchange }))
    const events: string[] = []
    await client.listen(({ type }) => events.push(type))
    await out.publish('mark', [journal.path, 'first'], { messageId: 'daily' })
    await until('it is revoked', () => events.includes('task.revoked'))
    // The node told the other before that event. A ping gets there later.
    const answers: string[] = []
    for await (const { node } of client.ask(['one', 'two'], { command: 'ping' })) answers.push(node)
    expect(answers.sort()).toEqual(['one', 'two'])
    for (let i = 0; i < 10; i++) await out.publish('mark', [journal.path, `later ${i}`], { messageId: 'daily' })
    await until('all have run', () => journal.lines.length === 10)
    expect(journal.lines).not.toContain('first')
    expect(all.map((node) => node.stats().totals.revoked).sort()).toEqual([0, 1])
  })

  it('are ended by a revocation from before the start of their node: it asks the others', async () => {
    const journal = new Journal()
    const out = await publisher()
    const secret = 'correct horse'
    const others = [await start({ queue, secret, name: 'one' }), await start({ queue, secret, name: 'two' })]
    for (const node of others) {
      await node.command({ command: 'revoke', id: 'daily' })
      await node.command({ command: 'quiet' })
    }
    await others[0]!.shutdown()
    // Under the name of the one that is gone, as a node that is restarted.
    const node = await start({ queue, secret, name: 'one' })
    await out.publish('mark', [journal.path, 'first'], { messageId: 'daily' })
    await out.publish('mark', [journal.path, 'second'], { messageId: 'daily' })
    await until('both are settled', () => node.stats().totals.revoked === 1 && node.stats().totals.succeeded === 1)
    expect(journal.lines).toEqual(['second'])
  })

  it('report progress to the caller, in order, before the result', async () => {
    await start()
    const out = await publisher()
    const seen: unknown[] = []
    const values = [1, { half: true }, [3]]
    await out.call('reportProgress', [values], { onProgress: (value) => seen.push(value) })
    expect(seen).toEqual(values)
    await expect(out.call('echo', [1], { onProgress: 1 as never })).rejects.toThrow("Option 'onProgress' must be a function that gets each value")
  })
})
