import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { createPublisher, type PublisherOptions } from '../../src/amqp/index.js'
import type { Publisher } from '../../src/amqp/publishing/publisher.js'
import type { Delivery } from '../../src/runtime/delivery.js'
import { decodeJob } from '../../src/runtime/message/job.js'
import { encodeReply } from '../../src/runtime/message/reply.js'
import { workerState } from '../../src/worker/state.js'
import { NO_ERROR } from '../fixtures/memory-broker.js'
import { admin, DeliveryCollector, isolatedTopology, newName, RABBITMQ_URL, removeQueues, until, withRabbit } from './rabbit.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

const limit = { maxBodySize: 1_000_000 }
const read = async (delivery: Delivery) => decodeJob(delivery.body, delivery.headers, limit)

withRabbit('the publisher', () => {
  const { queue, queues, keep, broker, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(cleanUp)
  afterAll(() => proxy.close())
  const publisher = async (options: PublisherOptions = {}): Promise<Publisher> => keep(await createPublisher({ url: RABBITMQ_URL, queue, ...options }))

  it('declares the queue, and publishes the job with all its options', async () => {
    const out = await publisher()
    const before = Date.now()
    const id = await out.publish('sendWelcomeEmail', [7, { to: 'a' }], {
      softTimeLimit: 1_000,
      timeLimit: 2_000,
      context: { tenant: 't' },
      priority: 0,
      ttl: 60_000,
      maxAttempts: 4,
      backoff: { kind: 'fixed', delay: 10 },
      retryLost: 0,
      correlationId: 'c',
      compress: 'gzip',
    })
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    const collector = new DeliveryCollector()
    ;(await broker()).consume(1, collector.receive)
    const delivery = await collector.take(id)
    expect(await read(delivery)).toEqual({ task: 'sendWelcomeEmail', args: [7, { to: 'a' }], context: { tenant: 't' } })
    expect(delivery.counts).toEqual({ attempt: 1, losses: 0, requeues: 0 })
    expect(delivery.headers).toMatchObject({
      contentType: 'application/msgpack',
      contentEncoding: 'gzip',
      schemaVersion: 1,
      softTimeLimit: 1_000,
      timeLimit: 2_000,
      maxAttempts: 4,
      backoff: { kind: 'fixed', delay: 10 },
      retryLost: 0,
      correlationId: 'c',
    })
    expect(delivery.headers.expiresAt).toBeGreaterThanOrEqual(before + 60_000)
  })

  it('inherits the context of the job that runs', async () => {
    const out = await publisher()
    const collector = new DeliveryCollector()
    ;(await broker()).consume(10, collector.receive)
    const state = workerState()
    const { current } = state
    state.current = () => ({ context: { tenant: 'inherited' } }) as ReturnType<typeof current>
    try {
      const inherited = await out.publish('a', [])
      const own = await out.publish('a', [], { context: null })
      expect((await read(await collector.take(inherited))).context).toEqual({ tenant: 'inherited' })
      expect((await read(await collector.take(own))).context).toBeNull()
    } finally {
      state.current = current
    }
  })

  it('publishMany: ids in order, each job once, also from an endless source', async () => {
    const out = await publisher()
    async function* source(): AsyncGenerator<[number]> {
      for (let i = 0; i < 1_200; i++) yield [i]
    }
    const ids = await out.publishMany('add', source())
    expect(new Set(ids).size).toBe(1_200)
    const collector = new DeliveryCollector()
    const node = await broker()
    expect(await node.depth()).toBe(1_200)
    node.consume(500, (delivery) => {
      collector.receive(delivery)
      void delivery.settle({ kind: 'acknowledge' })
    })
    await until('all came', () => collector.all.length === 1_200)
    expect(collector.ids.toSorted()).toEqual(ids.toSorted())
    expect((await read(collector.of(ids[17]!)[0]!)).args).toEqual([17])
  })

  it('publishMany: reads 1,024 from its source ahead of the confirms, and then one for each confirm', async () => {
    const out = await publisher({ url: proxy.url })
    let taken = 0
    function* source(): Generator<[number]> {
      while (taken < 1_500) yield [++taken]
    }
    const raced = vi.spyOn(Promise, 'race')
    try {
      proxy.muteBroker()
      const publishing = out.publishMany('add', source())
      await until('it has taken what it may', () => taken >= 1_024)
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(taken).toBe(1_024)
      proxy.flow()
      expect(new Set(await publishing).size).toBe(1_500)
      expect(raced.mock.calls.length).toBe(0)
    } finally {
      raced.mockRestore()
    }
  })

  it('publishMany: an invalid name or option is a TypeError, before the source is read', async () => {
    const out = await publisher()
    let taken = 0
    function* source(): Generator<[number]> {
      while (true) yield [++taken]
    }
    const refusal = (name: string, options: object): Promise<unknown> => out.publishMany(name, source(), options).catch((reason: unknown) => reason)
    expect(await refusal('add', { dely: 5 })).toMatchObject({
      name: 'TypeError',
      message: expect.stringMatching(/^Unknown option 'dely' of publisher\.publishMany\('add', …\); did you mean 'delay'\?/),
    })
    expect(await refusal('add', { delay: -1 })).toMatchObject({ name: 'TypeError', message: expect.stringContaining("Option 'delay' must be") })
    expect(await refusal('add', { messageId: 'one' })).toMatchObject({ name: 'TypeError' })
    expect(await refusal('', {})).toMatchObject({ name: 'TypeError' })
    expect(taken).toBe(0)
  })

  it('publishMany: says of its source what an item must be', async () => {
    const out = await publisher()
    const refusal = (source: unknown): Promise<unknown> => out.publishMany('add', source as [number][]).catch((reason: unknown) => reason)
    const message = "Option 'source[1]' must be an array, the arguments of one job: publisher.publishMany('add', [[argument, …], …]); it was given 7."
    expect(await refusal([[1], 7])).toMatchObject({ name: 'PublishManyError', published: [expect.any(String)], cause: { name: 'TypeError', message } })
    for (const none of [undefined, 7, 'text'])
      expect(await refusal(none)).toMatchObject({
        name: 'TypeError',
        message: expect.stringContaining("Option 'source' must be an iterable of arrays of arguments"),
      })
  })

  it('publishMany: stops at the first error, and reports which jobs were published', async () => {
    const out = await publisher()
    const error = await out.publishMany('add', [[1], [2], [() => {}], [4]] as number[][]).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'PublishManyError', code: 'ERR_PREFORK_PUBLISH', cause: { name: 'SerializationError' } })
    const { published, message } = error as { published: string[]; message: string }
    expect(message).toContain('args[0] is a function')
    expect(await (await broker()).depth()).toBe(published.length)
  })

  it('a connection lost before the confirm: published again, never lost; a job that is stored twice has the same id', async () => {
    const out = await publisher({ url: proxy.url })
    const ids: string[] = []
    for (let round = 0; round < 5; round++) {
      proxy.muteBroker()
      const running = Array.from({ length: 40 }, (_, i) => out.publish('add', [round, i]))
      const { onChannel, close } = await admin()
      await until('the broker has some that it could not confirm', () =>
        onChannel(async (channel) => (await channel.checkQueue(queue)).messageCount > ids.length),
      )
      await close()
      proxy.cut()
      ids.push(...(await Promise.all(running)))
    }
    expect(new Set(ids).size).toBe(200)
    const collector = new DeliveryCollector()
    const node = await broker()
    const stored = await node.depth()
    node.consume(500, collector.receive)
    await until('all came', () => collector.all.length === stored)
    expect(new Set(collector.ids)).toEqual(new Set(ids))
    const doubles = stored - 200
    expect(doubles).toBeGreaterThan(0)
    expect(doubles).toBeLessThanOrEqual(200)
  }, 60_000)

  it('waits for a broker that cannot be reached, up to publishTimeout', async () => {
    const out = await publisher({ url: proxy.url, publishTimeout: 600 })
    const patient = await publisher({ url: proxy.url })
    proxy.shut()
    await until('both know', () => !out.connected && !patient.connected)
    const lost = out.publish('a', [])
    await expect(lost).rejects.toMatchObject({
      name: 'PublishError',
      stored: 'no',
      message: expect.stringContaining('given up after 600 ms: RabbitMQ could not be reached'),
    })
    await expect(out.publish('a', [], { delay: 1_000 })).rejects.toMatchObject({ stored: 'no', message: expect.stringContaining('given up after 600 ms') })
    const kept = [patient.publish('a', []), patient.publish('a', [], { delay: 100 })]
    proxy.open()
    expect((await Promise.all(kept)).length).toBe(2)
    const node = await broker()
    await until('both are ready', async () => (await node.depth()) === 2)
  })

  it('a queue that was deleted is declared again; with declare: false it is an error that names the queue', async () => {
    const out = await publisher()
    const { onChannel, close } = await admin()
    await onChannel((channel) => channel.deleteQueue(queue))
    await out.publish('a', [])
    const delayed = await out.publish('a', [], { delay: 10_000 })
    await onChannel((channel) => channel.deleteQueue(`${queue}.delay.10000ms`))
    await out.publish('b', [], { delay: 9_500 })
    expect(delayed).toMatch(/-/)
    expect(await onChannel(async (channel) => (await channel.checkQueue(`${queue}.delay.10000ms`)).messageCount)).toBe(1)
    const strict = await publisher({ declare: false })
    await onChannel((channel) => channel.deleteQueue(queue))
    await expect(strict.publish('a', [])).rejects.toMatchObject({
      name: 'UnroutableError',
      code: 'ERR_PREFORK_PUBLISH',
      message: `There is no queue '${queue}' that would take the message.`,
    })
    await close()
  })

  it('close waits for publications in progress, and refuses later ones', async () => {
    const out = await publisher()
    const running = Array.from({ length: 100 }, (_, i) => out.publish('a', [i]))
    await out.close()
    expect((await Promise.all(running)).length).toBe(100)
    await expect(out.publish('a', [])).rejects.toThrow(/publisher is closed or closing/)
    expect(await (await broker()).depth()).toBe(100)
  })

  it('explains what is wrong with an option or an argument', async () => {
    const out = await publisher()
    const refusals: [unknown, RegExp][] = [
      [{ timelimit: 5 }, /Unknown option 'timelimit' of publisher\.publish\('a', …\); did you mean 'timeLimit'\?/],
      [{ timeLimit: 5, softTimeLimit: 10 }, /'timeLimit' must be at least the softTimeLimit of 10 ms/],
      [{ ttl: 5, delay: 10 }, /'ttl' must be more than the delay of 10 ms/],
      [{ delay: 31 * 86_400_000 }, /'delay' must be a number of milliseconds from 0 to 2592000000 \(30 days\)/],
      [{ maxAttempts: 0 }, /'maxAttempts' must be a whole number from 1 to 1000000/],
      [{ backoff: { kind: 'linear', delay: 1 } }, /'backoff\.kind' must be 'fixed' or 'exponential'/],
      [{ backoff: { kind: 'fixed', dely: 1 } }, /Unknown option 'dely' of backoff; did you mean 'delay'/],
      [{ messageId: '' }, /'messageId' must be a text of 1 to 255 bytes of UTF-8/],
      [{ messageId: '\u00e9'.repeat(128) }, /'messageId' must be a text of 1 to 255 bytes of UTF-8/],
      [{ correlationId: '\u00e9'.repeat(128) }, /'correlationId' must be a text of 1 to 255 bytes of UTF-8/],
      [{ compress: 'zip' }, /'compress' must be 'gzip' or 'br' or 'zstd'/],
      [{ priority: -1 }, /'priority' must be a whole number from 0 to 255/],
    ]
    for (const [options, message] of refusals) await expect(out.publish('a', [], options as never)).rejects.toThrow(message)
    await expect(out.publish('a', 'x' as never)).rejects.toThrow(/'args' must be an array: publisher\.publish\('a', \[argument, …\]\)/)
    await expect(out.publish('a', [{ f: Symbol('s') }])).rejects.toThrow('args[0].f is a symbol')
    await expect(createPublisher({ uri: 'x' } as never)).rejects.toThrow(/Unknown option 'uri' of createPublisher; did you mean 'url'\?/)
    await expect(createPublisher({ url: 'http://u:secret@x' })).rejects.toThrow(/^Option 'url' must be a URL of the form amqp:/)
    await expect(createPublisher({ queueType: 'mirrored' as never })).rejects.toThrow(/'queueType' must be 'quorum' or 'classic'/)
    await expect(createPublisher({ url: RABBITMQ_URL, queue, queueType: 'classic' })).rejects.toThrow(/exists, but not as/)
  })

  it('two queues of one name in several levels: each priority has its own', async () => {
    const name = newName()
    queues.add(name)
    const out = await publisher({ queue: name, priorityLevels: 3 })
    for (const priority of [0, 1, 2, 200]) await out.publish('a', [priority], { priority })
    const { onChannel, close } = await admin()
    const depths = await Promise.all(['', '.p1', '.p2'].map((level) => onChannel(async (channel) => (await channel.checkQueue(name + level)).messageCount)))
    await close()
    expect(depths).toEqual([1, 1, 2])
  })
})

withRabbit('calls', () => {
  const { queue, keep, broker, cleanUp } = isolatedTopology()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(cleanUp)
  afterAll(() => proxy.close())
  const publisher = async (options: PublisherOptions = {}): Promise<Publisher> => keep(await createPublisher({ url: RABBITMQ_URL, queue, ...options }))

  it('resolve with the result, or reject with the error of the task, also after a retry', async () => {
    const node = await broker()
    node.consume(10, async (delivery) => {
      const { task, args } = await read(delivery)
      if (task === 'flaky' && delivery.counts.attempt === 1) {
        await delivery.settle({ kind: 'republish', why: 'failed', error: NO_ERROR, delay: 100, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] })
        return
      }
      const reply =
        task === 'fails'
          ? encodeReply({ ok: false, error: { name: 'RangeError', message: 'too much', stack: 'RangeError: too much\n    at far away', code: 'E_MUCH' } })
          : encodeReply({ ok: true, value: task === 'nothing' ? undefined : { args, at: new Date(5) } })
      await delivery.reply(reply, { ok: task !== 'fails' })
      await delivery.settle({ kind: 'acknowledge' })
    })
    const out = await publisher()
    const results = await Promise.all([
      out.call('echo', [1]),
      out.call('flaky', [2]),
      out.call('nothing', []),
      out.call('echo', [3], { correlationId: 'mine' }),
    ])
    expect(results).toEqual([{ args: [1], at: new Date(5) }, { args: [2], at: new Date(5) }, undefined, { args: [3], at: new Date(5) }])
    const error: unknown = await out.call('fails', []).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'RangeError', message: 'too much', code: 'E_MUCH', stack: 'RangeError: too much\n    at far away' })
  })

  it('are rejected when the answer does not arrive in time', async () => {
    const out = await publisher()
    await expect(out.call('a', [], { timeout: 2_000 })).rejects.toMatchObject({
      code: 'ERR_PREFORK_CALL_TIMEOUT',
      message: expect.stringContaining("'a' was not answered within 2000 ms"),
    })
  })

  it('are rejected when the connection is lost before the answer, and not published again', async () => {
    const out = await publisher({ url: proxy.url })
    const node = await broker()
    const collector = new DeliveryCollector()
    node.consume(10, collector.receive)
    const waiting = out.call('a', [], { messageId: 'm' })
    const delivery = await collector.take('m')
    proxy.cut()
    await expect(waiting).rejects.toMatchObject({
      name: 'PublishError',
      stored: 'unknown',
      message: expect.stringContaining('connection was lost before the answer came'),
    })
    // No node consumes the queue.
    await delivery.reply(encodeReply({ ok: true, value: 1 }), { ok: true })
    await delivery.settle({ kind: 'acknowledge' })
    const next = out.call('b', [], { messageId: 'n' })
    const second = await collector.take('n')
    await second.reply(encodeReply({ ok: true, value: 2 }), { ok: true })
    expect(await next).toBe(2)
    expect(collector.ids).toEqual(['m', 'n'])
  })

  it('are rejected by close', async () => {
    const out = await publisher()
    const waiting = out.call('a', [])
    const refused = expect(waiting).rejects.toThrow(/closed before the answer came/)
    await until('it is stored', async () => {
      const { onChannel, close } = await admin()
      const { messageCount } = await onChannel((channel) => channel.checkQueue(queue))
      await close()
      return messageCount === 1
    })
    await out.close()
    await refused
    await removeQueues([queue], [])
  })
})
