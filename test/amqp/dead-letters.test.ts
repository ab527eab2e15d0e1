import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPublisher, listDeadLetters, purge, retryDeadLetters } from '../../src/amqp/index.js'
import { admin, DeliveryCollector, first, isolatedTopology, newName, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
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

  it('are listed with reason, error and history, and stay', async () => {
    await deadLetter('a', 'b', 'c')
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      channel.sendToQueue(`${queue}.dlq`, Buffer.from([0xc1]), {})
      channel.sendToQueue(`${queue}.dlq`, Buffer.from([0xc1]), { messageId: '' })
      await channel.checkQueue(queue)
    })
    await close()
    for (let look = 0; look < 3; look++) {
      const shown = await listDeadLetters(here)
      expect(shown.map((each) => each.id)).toEqual(['a', 'b', 'c', undefined, undefined])
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
    // An empty id is none.
    expect(await retryDeadLetters({ ...here, ids: [''] })).toEqual({ retried: 0 })
    expect((await listDeadLetters({ ...here, limit: 2 })).map((each) => each.id)).toEqual(['a', 'b'])
  })

  it('of the broker have its reason', async () => {
    const out = keep(await createPublisher(here))
    const before = Date.now()
    await out.publish('add', [1], { messageId: 'late', ttl: 1 })
    await until('it is dead', async () => (await listDeadLetters(here)).length === 1)
    const [letter] = await listDeadLetters(here)
    expect(letter).toMatchObject({
      id: 'late',
      reason: 'expired',
      error: { name: 'ExpiredError', code: 'ERR_PREFORK_EXPIRED', stack: undefined },
      node: undefined,
    })
    const [, at] = /^It expired at (.*), before it began\.$/.exec(letter!.error!.message)!
    expect(Date.parse(at!)).toBeGreaterThan(before)
    expect(Date.parse(at!)).toBeLessThan(before + 60_000)
    await purge({ ...here, dead: true })
  })

  it('are retried, each once in a call, as new jobs under the same id', async () => {
    await deadLetter('a', 'b', 'c')
    expect(await retryDeadLetters({ ...here, ids: ['b', 'unknown'] })).toEqual({ retried: 1 })
    expect((await listDeadLetters(here)).map((each) => each.id)).toEqual(['a', 'c'])
    const node = await broker()
    const collector = new DeliveryCollector()
    // Each is dead-lettered again at once: it is left for the next call.
    node.consume(10, (delivery) => {
      collector.receive(delivery)
      void delivery.settle({ kind: 'dead-letter', reason: 'failed', error, counts: delivery.counts, history: [] })
    })
    await collector.take('b')
    expect(collector.of('b')[0]).toMatchObject({ counts: { attempt: 1, losses: 0, requeues: 0 }, headers: { expiresAt: undefined, history } })
    await until('b is dead again', async () => (await listDeadLetters(here)).length === 3)
    expect(await retryDeadLetters(here)).toEqual({ retried: 3 })
    await until('all are dead again', async () => (await listDeadLetters(here)).length === 3)
    const keys = collector.of('b').map((each) => each.key)
    expect([keys.length, new Set(keys).size, keys.includes(undefined)]).toEqual([2, 2, false])
    expect(await retryDeadLetters({ ...here, limit: 2 })).toEqual({ retried: 2 })
    await until('all are dead again', async () => (await listDeadLetters(here)).length === 3)
  })

  it('purge removes waiting and delayed jobs, or the dead letters', async () => {
    await deadLetter('a')
    const out = keep(await createPublisher(here))
    await out.publish('x', [])
    await out.publish('x', [], { delay: 60_000 })
    expect(await purge({ ...here, delayed: false })).toEqual({ removed: 1 })
    expect(await purge(here)).toEqual({ removed: 1 })
    expect(await purge(here)).toEqual({ removed: 0 })
    expect((await listDeadLetters(here)).length).toBe(1)
    expect(await purge({ ...here, dead: true })).toEqual({ removed: 1 })
  })

  // When a queue goes: dead-letters.long.test.ts.
  describe('when the connection goes meanwhile', () => {
    const ACK = [60, 80] as const
    let proxy: TcpProxy
    beforeEach(async () => {
      proxy = await tcpProxy(RABBITMQ_URL)
    })
    afterEach(() => proxy.close())
    const failure = (operation: Promise<unknown>): Promise<{ name: string; message: string }> =>
      operation.then(
        () => expect.unreachable('it was to be rejected'),
        (reason) => reason,
      )

    it('retryDeadLetters loses no job when the connection is lost', async () => {
      await deadLetter('a', 'b')
      proxy.before(...ACK, () => proxy.cut())
      expect(await failure(retryDeadLetters({ queue, url: proxy.url }))).toMatchObject({
        name: 'BrokerError',
        message: expect.stringMatching(/; [12] were published to it again: .* What was not removed is still in /),
      })
      expect((await listDeadLetters(here)).map((each) => each.id).toSorted()).toEqual(['a', 'b'])
      expect(await (await broker()).depth()).toBeGreaterThan(0)
    })
  })

  it('explain what is wrong with an option', async () => {
    await expect(listDeadLetters({ ...here, queue: newName() })).rejects.toThrow(/There is no queue 'test\..*\.dlq': no node and no publisher has declared/)
    await expect(retryDeadLetters({ ...here, queue: newName() })).rejects.toThrow(/There is no queue/)
    await expect(purge({ ...here, queue: newName() })).rejects.toThrow(/There is no queue/)
    await expect(listDeadLetters({ ...here, limt: 5 } as never)).rejects.toThrow(/Unknown option 'limt' of listDeadLetters; did you mean 'limit'\?/)
    await expect(retryDeadLetters({ ...here, ids: 'a' as never })).rejects.toThrow(/'ids' must be an array of job ids/)
    await expect(retryDeadLetters({ ...here, ids: ['a', 5] as never })).rejects.toThrow("Option 'ids[1]' must be a job's id; it was given 5.")
    await expect(purge({ url: 'amqp://guest:guest@127.0.0.1:1/' })).rejects.toThrow(/RabbitMQ at amqp:\/\/guest:\*\*\*@127\.0\.0\.1:1\/ cannot be reached/)
  })
})
