import { afterEach, expect, it } from 'vitest'
import { createPublisher, listDeadLetters, purge, retryDeadLetters } from '../../../src/brokers/amqp/index.js'
import { admin, corner, first, Inbox, newName, RABBITMQ_URL, until, withRabbit } from './rabbit.js'

const error = { name: 'TypeError', message: 'no such thing', stack: 'TypeError: no such thing\n    at there', code: 'E_NO' }
const history = [{ attempt: 1, at: 5, node: 'n', outcome: 'failed' as const, error: 'Error: x' }]

withRabbit('dead letters', () => {
  const { queue, keep, broker, cleanUp } = corner()
  afterEach(cleanUp)
  const here = { url: RABBITMQ_URL, queue }

  const bury = async (...ids: string[]): Promise<void> => {
    const node = await broker()
    const inbox = new Inbox()
    node.consume(10, inbox.receive)
    const out = keep(await createPublisher(here))
    for (const id of ids) {
      await out.publish('add', [1, id], { messageId: id, context: 'c', ttl: 60_000 })
      await (await inbox.take(id)).settle({ kind: 'dead-letter', reason: 'failed', error, counts: first, history })
    }
    await node.close()
  }

  it('are shown with what became of them, and stay', async () => {
    await bury('a', 'b', 'c')
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      channel.sendToQueue(`${queue}.dlq`, Buffer.from([0xc1]), {})
      await channel.checkQueue(queue)
    })
    await close()
    for (let look = 0; look < 3; look++) {
      const shown = await listDeadLetters(here)
      expect(shown.map((each) => each.id)).toEqual(['a', 'b', 'c', undefined])
      expect(shown[0]).toMatchObject({
        message: { task: 'add', args: [1, 'a'], context: 'c' },
        reason: 'failed',
        error,
        queue,
        node: 'node-1',
        counts: { attempt: 1, losses: 0, requeues: 0 },
        history,
      })
      expect(shown[3]).toMatchObject({ message: undefined, size: 1 })
    }
    expect((await listDeadLetters({ ...here, limit: 2 })).map((each) => each.id)).toEqual(['a', 'b'])
  })

  it('are given another try, each once in a call, with one requeue more', async () => {
    await bury('a', 'b', 'c')
    expect(await retryDeadLetters({ ...here, ids: ['b', 'nobody'] })).toEqual({ retried: 1 })
    expect((await listDeadLetters(here)).map((each) => each.id)).toEqual(['a', 'c'])
    const node = await broker()
    const inbox = new Inbox()
    // Each dies again at once: it waits for the next call.
    node.consume(10, (delivery) => {
      inbox.receive(delivery)
      void delivery.settle({ kind: 'dead-letter', reason: 'failed', error, counts: delivery.counts, history: [] })
    })
    await inbox.take('b')
    expect(inbox.of('b')[0]).toMatchObject({ counts: { attempt: 1, losses: 0, requeues: 1 }, headers: { expiresAt: undefined, history } })
    await until('b is dead again', async () => (await listDeadLetters(here)).length === 3)
    expect(await retryDeadLetters(here)).toEqual({ retried: 3 })
    await until('all are dead again', async () => (await listDeadLetters(here)).length === 3)
    expect(inbox.of('b').map((each) => each.counts.requeues)).toEqual([1, 2])
    expect(await retryDeadLetters({ ...here, limit: 2 })).toEqual({ retried: 2 })
    await until('all are dead again', async () => (await listDeadLetters(here)).length === 3)
  })

  it('purge throws away what waits, delayed jobs included, or the dead letters', async () => {
    await bury('a')
    const out = keep(await createPublisher(here))
    await out.publish('x', [])
    await out.publish('x', [], { delay: 60_000 })
    expect(await purge({ ...here, delayed: false })).toEqual({ removed: 1 })
    expect(await purge(here)).toEqual({ removed: 1 })
    expect(await purge(here)).toEqual({ removed: 0 })
    expect((await listDeadLetters(here)).length).toBe(1)
    expect(await purge({ ...here, dead: true })).toEqual({ removed: 1 })
  })

  it('says what is wrong', async () => {
    await expect(listDeadLetters({ ...here, queue: newName() })).rejects.toThrow(/There is no queue 'test\..*\.dlq': no node and no publisher has declared/)
    await expect(retryDeadLetters({ ...here, queue: newName() })).rejects.toThrow(/There is no queue/)
    await expect(purge({ ...here, queue: newName() })).rejects.toThrow(/There is no queue/)
    await expect(listDeadLetters({ ...here, limt: 5 } as never)).rejects.toThrow(/Unknown option 'limt' of listDeadLetters; did you mean 'limit'\?/)
    await expect(retryDeadLetters({ ...here, ids: 'a' as never })).rejects.toThrow(/'ids' must be an array of job ids/)
    await expect(purge({ url: 'amqp://guest:guest@127.0.0.1:1/' })).rejects.toThrow(/RabbitMQ at amqp:\/\/guest:\*\*\*@127\.0\.0\.1:1\/ cannot be reached/)
  })
})
