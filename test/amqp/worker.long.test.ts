/** Further cases of a node on RabbitMQ, end to end. */
import { createPublisher, listDeadLetters, retryDeadLetters } from 'prefork/amqp'
import { expect, it } from 'vitest'
import { Journal, Latch } from '../fixtures/support.js'
import { isolatedNodes } from './isolated-nodes.js'
import { admin, RABBITMQ_URL, until, withRabbit } from './rabbit.js'

withRabbit('a node', () => {
  const { queue, keep, start, publisher } = isolatedNodes()

  it('a job that kills each of its workers is dead-lettered; a retry begins anew', async () => {
    await start()
    const out = await publisher()
    await out.publish('killSelf', ['SIGKILL'], { messageId: 'poison' })
    const dead = () => listDeadLetters({ url: RABBITMQ_URL, queue })
    await until('it is dead', async () => (await dead()).length === 1)
    expect((await dead())[0]).toMatchObject({ id: 'poison', reason: 'lost' })
    expect(await out.call('echo', [1])).toBe(1)
    expect(await retryDeadLetters({ url: RABBITMQ_URL, queue })).toEqual({ retried: 1 })
    await until('it is dead again', async () => (await dead()).length === 1)
    expect((await dead())[0]?.counts).toEqual({ attempt: 1, losses: 3, requeues: 0 })
  }, 60_000)

  it('undecodable bodies are dead-lettered, and other jobs run', async () => {
    await start()
    const out = await publisher()
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      channel.sendToQueue(queue, Buffer.from([0xc1]), { contentType: 'application/msgpack' })
      channel.sendToQueue(queue, Buffer.from('{"task":5}'), { contentType: 'application/json' })
      channel.sendToQueue(queue, Buffer.from('{"task":"echo","args":["json"]}'), { contentType: 'application/json', messageId: 'json' })
      await channel.checkQueue(queue)
    })
    await close()
    expect(await out.call('echo', [1])).toBe(1)
    await until('both are dead', async () => (await listDeadLetters({ url: RABBITMQ_URL, queue })).length === 2)
    expect((await listDeadLetters({ url: RABBITMQ_URL, queue })).map((each) => each.reason)).toEqual(['undecodable', 'undecodable'])
  })

  it('a generator that is called as a job is refused at once', async () => {
    const node = await start()
    const out = await publisher()
    await expect(out.call('letters', [])).rejects.toMatchObject({ code: 'ERR_PREFORK_STREAM' })
    await until('its end is counted', () => node.stats().totals.deadLettered === 1)
    expect(node.stats().totals.retried).toBe(0)
    expect(await listDeadLetters({ url: RABBITMQ_URL, queue })).toMatchObject([{ reason: 'refused', counts: { attempt: 1 } }])
  })

  it('with more levels of priority than prefetch, jobs of each level run', async () => {
    const out = keep(await createPublisher({ url: RABBITMQ_URL, queue, priorityLevels: 3 }))
    const journal = new Journal()
    const gate = new Latch()
    await out.publish('holdSync', [gate.path, journal.path, 'first'], { priority: 2 })
    // Longer than RabbitMQ takes to deliver the next job of a level.
    for (const priority of [0, 1, 2]) await out.publishMany('sleepThenMark', new Array(15).fill([40, journal.path, priority]), { priority })
    const node = await start({ priorityLevels: 3, prefetchPerWorker: 1 })
    await journal.seen('+first')
    await until('one of each level is held', () => node.stats().held === 3)
    gate.open()
    await journal.seen('-first')
    await until('all are done', () => node.stats().totals.succeeded === 46)
    const lines = journal.lines.slice(journal.lines.indexOf('-first') + 1)
    // Eight jobs start before one of the lowest level, and one of the level between.
    expect(lines.indexOf('0')).toBeLessThanOrEqual(9)
    expect(lines.indexOf('1')).toBeLessThanOrEqual(8)
  }, 60_000)
})
