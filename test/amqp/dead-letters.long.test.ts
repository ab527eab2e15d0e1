import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPublisher, listDeadLetters, purge, retryDeadLetters } from '../../src/amqp/index.js'
import { admin, DeliveryCollector, first, isolatedTopology, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

const error = { name: 'TypeError', message: 'no such thing', stack: 'TypeError: no such thing\n    at there', code: 'E_NO' }
const history = [{ attempt: 1, at: 5, node: 'n', outcome: 'failed' as const, error: 'Error: x' }]

withRabbit('dead letters', () => {
  const { queue, keep, broker, cleanUp } = isolatedTopology()
  afterEach(cleanUp)
  const here = { url: RABBITMQ_URL, queue }

  const deadLetter = async (...ids: string[]): Promise<void> => {
    const node = await broker()
    const collector = new DeliveryCollector()
    node.consume(10, collector.receive)
    const out = keep(await createPublisher(here))
    for (const id of ids) {
      await out.publish('add', [1, id], { messageId: id, context: 'c', ttl: 60_000 })
      await (await collector.take(id)).settle({ kind: 'dead-letter', reason: 'failed', error, counts: first, history })
    }
    await node.close()
  }

  describe('when a queue goes, or the broker is slow', () => {
    const [PUBLISH, GET] = [[60, 40] as const, [60, 70] as const]
    const PURGE = [50, 30] as const
    let proxy: TcpProxy
    beforeEach(async () => {
      proxy = await tcpProxy(RABBITMQ_URL)
    })
    afterEach(() => proxy.close())
    const drop = async (name: string): Promise<void> => {
      const { onChannel, close } = await admin()
      await onChannel((channel) => channel.deleteQueue(name))
      await close()
    }
    const dropBefore = (method: readonly [number, number], nth: number, name = `${queue}.dlq`): void =>
      proxy.before(...method, (each) => (each === nth ? drop(name) : undefined))
    const failure = (operation: Promise<unknown>): Promise<{ name: string; message: string }> =>
      operation.then(
        () => expect.unreachable('it was to be rejected'),
        (reason) => reason,
      )

    it('listDeadLetters rejects', async () => {
      await deadLetter('a', 'b')
      dropBefore(GET, 2)
      expect(await failure(listDeadLetters({ queue, url: proxy.url }))).toMatchObject({
        name: 'BrokerError',
        message: `The dead letters of '${queue}' could not be read to the end: the queue '${queue}.dlq' was deleted meanwhile, with what was still in it.`,
      })
    })

    it('retryDeadLetters rejects, and reports how many are in their queue again', async () => {
      await deadLetter('a', 'b', 'c')
      dropBefore(GET, 2)
      expect(await failure(retryDeadLetters({ queue, url: proxy.url, ids: ['a', 'b', 'c'] }))).toMatchObject({
        name: 'BrokerError',
        message: `Not all dead letters of '${queue}' were given another try; 1 were published to it again: the queue '${queue}.dlq' was deleted meanwhile, with what was still in it.`,
      })
      expect(await (await broker()).depth()).toBe(1)
    })

    it('retryDeadLetters declares the queue of the jobs again, or leaves the dead letters', async () => {
      await deadLetter('a', 'b')
      await drop(queue)
      expect(await failure(retryDeadLetters({ ...here, declare: false, ids: ['a', 'b'] }))).toMatchObject({
        name: 'BrokerError',
        message: expect.stringMatching(
          /; 0 were published .* There is no queue '.*' that would take the message\. What was not removed is still in '.*\.dlq'\.$/,
        ),
        cause: { name: 'UnroutableError' },
      })
      expect((await listDeadLetters(here)).map((each) => each.id)).toEqual(['a', 'b'])
      dropBefore(GET, 2, queue)
      expect(await retryDeadLetters({ queue, url: proxy.url, ids: ['b'] })).toEqual({ retried: 1 })
    })

    it('retryDeadLetters does not wait for each confirm', async () => {
      await deadLetter('a', 'b', 'c')
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      proxy.before(...PUBLISH, (nth) => (nth === 1 ? held : undefined))
      const retrying = retryDeadLetters({ queue, url: proxy.url })
      const { onChannel, close } = await admin()
      try {
        await until('all are taken', () => onChannel(async (channel) => (await channel.checkQueue(`${queue}.dlq`)).messageCount === 0))
      } finally {
        release()
        await close()
      }
      expect(await retrying).toEqual({ retried: 3 })
      expect(await (await broker()).depth()).toBe(3)
    })

    it('purge rejects when it is the queue itself, and counts 0 for a delay queue', async () => {
      await broker()
      const out = keep(await createPublisher(here))
      await out.publish('x', [])
      await out.publish('x', [], { delay: 60_000 })
      dropBefore(PURGE, 2, `${queue}.delay.60000ms`)
      expect(await purge({ queue, url: proxy.url })).toEqual({ removed: 1 })
      dropBefore(PURGE, 1, queue)
      expect(await failure(purge({ queue, url: proxy.url }))).toMatchObject({ name: 'BrokerError', message: `There is no queue '${queue}'.` })
    })
  })
})
