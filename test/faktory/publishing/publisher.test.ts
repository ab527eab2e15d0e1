import { describe, expect, it, onTestFinished } from 'vitest'
import { createPublisher, type PublisherOptions } from '../../../src/faktory/create-publisher.js'
import { PublishError, PublishManyError } from '../../../src/node/connection/errors.js'
import { newName, ownFaktory, sharedFaktory } from '../../fixtures/faktory.js'
import { failure, until } from '../../fixtures/support.js'
import { lineServer } from '../connection/line-server.js'

const faktory = sharedFaktory()

const publisherAt = async (url: string, options: PublisherOptions = {}) => {
  const publisher = await createPublisher({ url, ...options })
  onTestFinished(() => publisher.close())
  return publisher
}

const publisherOf = (options: PublisherOptions = {}) => publisherAt(faktory.url, options)

/** The warnings of the process while a test runs. */
const warnings = (): string[] => {
  const seen: string[] = []
  const listener = ({ message }: Error) => void seen.push(message)
  process.on('warning', listener)
  onTestFinished(() => void process.off('warning', listener))
  return seen
}

describe('publish', () => {
  it('stores a job as it was given', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    const args = [9007199254740991, -1.5, '<é😀>\u2028', { a: { k: [null, true] } }]
    const jid = await publisher.publish('mail', args, { reserveFor: 120_000, backtrace: 10, custom: { locale: 'de' } })
    const worker = await faktory.connect({ wid: newName() })
    const job = await worker.fetch(queue)
    expect(job).toMatchObject({ jid, jobtype: 'mail', queue, args, retry: 25, reserve_for: 120, backtrace: 10, custom: { locale: 'de' } })
    await worker.ask(`ACK {"jid":"${jid}"}`)
  })

  it('names the retries each time, so that it is not given those of another client', async () => {
    const queue = faktory.newQueue()
    const other = await faktory.connect()
    await other.push({ jid: newName(), jobtype: 't', args: [], queue, retry: 3 })
    const publisher = await publisherOf({ queue })
    await publisher.publish('t', [])
    expect((await other.fetch(queue))?.retry).toBe(3)
    expect((await other.fetch(queue))?.retry).toBe(25)
  })

  it('schedules a job', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    const jid = await publisher.publish('t', [], { delay: 3_600_000 })
    const client = await faktory.connect()
    await client.ask(`MUTATE ${JSON.stringify({ cmd: 'requeue', target: 'scheduled', filter: { jids: [jid] } })}`)
    expect(await client.fetch(queue)).toMatchObject({ jid, at: expect.stringContaining('T') })
  })

  it('refuses what it is given, and sends nothing', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    expect(await failure(publisher.publish('t', 'x' as never))).toMatchObject({ name: 'TypeError', message: expect.stringContaining("Option 'args' must be") })
    expect(await failure(publisher.publish('', []))).toMatchObject({ name: 'TypeError', message: expect.stringContaining("Option 'name' must be") })
    expect(await failure(publisher.publish('t', [1n]))).toMatchObject({ name: 'SerializationError' })
    expect(await failure(publisher.publish('t', [], { priority: 1 } as never))).toMatchObject({ message: expect.stringContaining('no priorities') })
    expect(await failure(publisher.call(...(['t', []] as never)))).toMatchObject({
      name: 'TypeError',
      message: expect.stringContaining('Faktory keeps no results'),
    })
    expect((await publisher.info()).faktory.queues[queue]).toBeUndefined()
  })

  it('takes the arguments at the call', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    const args = [{ a: 1 }]
    const published = publisher.publish('t', args)
    args[0]!.a = 2
    await published
    expect((await (await faktory.connect()).fetch(queue))?.args).toEqual([{ a: 1 }])
  })
})

describe('publishMany', () => {
  it('stores every job of a source in its order', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    async function* source() {
      for (let i = 0; i < 2_500; i++) yield [i] as const
    }
    const { published, refused } = await publisher.publishMany('t', source())
    expect(new Set(published).size).toBe(2_500)
    expect(refused.size).toBe(0)
    expect((await publisher.info()).faktory.queues[queue]).toBe(2_500)
    const client = await faktory.connect()
    for (let i = 0; i < 3; i++) expect(await client.fetch(queue)).toMatchObject({ jid: published[i], args: [i], retry: 25 })
  })

  it('keeps a command within a size', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    const large = 'x'.repeat(700_000)
    const { published } = await publisher.publishMany('t', [[large], [large], ['small']])
    expect(published.length).toBe(3)
    expect((await publisher.info()).faktory.queues[queue]).toBe(3)
  })

  it('publishes nothing from an empty source', async () => {
    const publisher = await publisherOf()
    expect(await publisher.publishMany('t', [])).toEqual({ published: [], refused: new Map() })
  })

  it('says of its source what an item must be', async () => {
    const publisher = await publisherOf()
    const message = "Option 'source[1]' must be an array, the arguments of one job: publisher.publishMany('t', [[argument, …], …]); it was given 7."
    expect(await failure(publisher.publishMany('t', [[1], 7] as never))).toMatchObject({
      published: [expect.any(String)],
      cause: { name: 'TypeError', message },
    })
    expect(await failure(publisher.publishMany('t', undefined as never))).toMatchObject({
      name: 'TypeError',
      message: expect.stringContaining("'source' must be"),
    })
  })

  it('says what was published before an argument that cannot be', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    const error = await failure(publisher.publishMany('t', [[1], [2], [new Date()], [4]]))
    expect(error).toBeInstanceOf(PublishManyError)
    expect(error).toMatchObject({ stored: 'no', published: [expect.any(String), expect.any(String)], cause: { name: 'SerializationError' } })
    expect((await publisher.info()).faktory.queues[queue]).toBe(2)
  })

  it('says that it is not known whether jobs are stored whose answer was lost', async () => {
    const { url, lines, cut } = await lineServer({ answer: (line) => (line.startsWith('PUSHB') ? undefined : '+OK\r\n') })
    const publisher = await publisherAt(url)
    const failed = failure(publisher.publishMany('t', [[1], [2]]))
    await until('they are sent', () => lines.some((line) => line.startsWith('PUSHB')))
    cut()
    expect(await failed).toMatchObject({ name: 'PublishManyError', stored: 'unknown', published: [] })
  })

  it('refuses an id, which would be that of several jobs', async () => {
    const publisher = await publisherOf()
    expect(await failure(publisher.publishMany('t', [], { jid: 'jid-00001' } as never))).toMatchObject({ name: 'TypeError' })
  })
})

describe('the queues and sets of a server', () => {
  it('pauses, resumes and removes a queue, and says how long it has waited', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    await publisher.publish('t', [])
    await publisher.queue.pause(queue)
    const client = await faktory.connect()
    expect(await client.fetch(queue)).toBeUndefined()
    expect((await publisher.queue.latency(queue, newName()))[queue]).toBeGreaterThan(1)
    await publisher.queue.resume(queue)
    expect(await client.fetch(queue)).toMatchObject({ queue })
    await publisher.queue.remove(queue)
    expect((await publisher.info()).faktory.queues[queue]).toBeUndefined()
  })

  it('refuses names that no queue has', async () => {
    const publisher = await publisherOf()
    expect(await failure(publisher.queue.pause())).toMatchObject({ name: 'TypeError', message: expect.stringContaining("queue.pause('critical', 'default')") })
    expect(await failure(publisher.queue.remove('a b'))).toMatchObject({ name: 'TypeError', message: expect.stringContaining("Option 'queues[0]'") })
    expect(await failure(publisher.queue.latency('*'))).toMatchObject({ name: 'TypeError' })
  })

  it('moves jobs between sets', async () => {
    const queue = faktory.newQueue()
    const publisher = await publisherOf({ queue })
    const jid = (await publisher.publish('t', [], { delay: 3_600_000 }))!
    await publisher.mutate({ cmd: 'kill', target: 'scheduled', filter: { regexp: `*${queue}*` } })
    await publisher.mutate({ cmd: 'requeue', target: 'dead', filter: { jids: [jid] } })
    expect(await (await faktory.connect()).fetch(queue)).toMatchObject({ jid })
    expect(await failure(publisher.mutate({ cmd: 'kill', target: 'dead', filter: { jobtype: 'a b' } }))).toMatchObject({ name: 'TypeError' })
  })
})

describe('a server of the test', () => {
  it('answers that a job is not unique, which is no error', async () => {
    const { url } = await ownFaktory({ enterprise: true })
    const seen = warnings()
    const publisher = await publisherAt(url)
    const options = { custom: { unique_for: 60 } }
    expect(await publisher.publish('t', [1], options)).toEqual(expect.any(String))
    expect(await publisher.publish('t', [1], options)).toBeUndefined()
    const { published, refused } = await publisher.publishMany('t', [[2], [1], [3]], options)
    expect(published.length).toBe(2)
    expect([...refused.values()]).toEqual([{ index: 1, reason: 'NOTUNIQUE Job not unique' }])
    expect(seen).toEqual([])
  })

  it('is named when it is not Faktory Enterprise and a job wants that, once', async () => {
    const { url } = await ownFaktory()
    const seen = warnings()
    const publisher = await publisherAt(url)
    await publisher.publish('t', [], { custom: { locale: 'de' } })
    await publisher.publish('t', [], { custom: { unique_for: 60, track: 1 } })
    await publisher.publish('t', [], { custom: { bid: 'b1' } })
    await until('it is warned of', () => seen.length > 0)
    await publisher.info()
    expect(seen).toEqual(["Faktory ignores unique_for, track in 'custom': this server is not Faktory Enterprise."])
  })

  it('is waited for while it restarts', async () => {
    const server = await ownFaktory()
    const publisher = await publisherAt(server.url)
    const stopped = server.stop()
    const published = publisher.publish('t', [1])
    await stopped
    await server.start()
    const jid = await published
    expect((await publisher.info()).faktory.queues).toEqual({ default: 1 })
    expect(jid).toEqual(expect.any(String))
  })

  it('is given up after publishTimeout', async () => {
    const server = await ownFaktory()
    const publisher = await publisherAt(server.url, { publishTimeout: 300 })
    await server.kill()
    await until('the loss is seen', () => !publisher.connected)
    const error = await failure(publisher.publish('t', []))
    expect(error).toBeInstanceOf(PublishError)
    expect(error).toMatchObject({ stored: 'no', message: expect.stringContaining('could not be sent') })
  })

  it('may have a job whose answer was lost', async () => {
    const server = await ownFaktory()
    const publisher = await publisherAt(server.url)
    const published = publisher.publish('t', [])
    // The command is written at the end of this turn, and answered later.
    setImmediate(() => server.cut())
    const outcome = await published.then(
      () => 'stored',
      (error: PublishError) => error.stored,
    )
    expect(['stored', 'unknown']).toContain(outcome)
  })

  it('must be reached within connectTimeout', async () => {
    const server = await ownFaktory()
    await server.kill()
    expect(await failure(createPublisher({ url: server.url, connectTimeout: 300 }))).toMatchObject({
      code: 'ERR_PREFORK_BROKER',
      message: expect.stringMatching(/^Faktory at \S+ cannot be reached: connect ECONNREFUSED \S+ It was tried for 300 ms\.$/),
    })
  })

  it('wants its password', async () => {
    const server = await ownFaktory({ password: 'p@ss=word/' })
    await publisherAt(server.url)
    const wrong = server.url.replace(/:[^:@]*@/, ':wrong@')
    expect(await failure(createPublisher({ url: wrong }))).toMatchObject({
      code: 'ERR_PREFORK_BROKER',
      message: expect.stringContaining('refused the password'),
    })
  })
})

it('waits at its close for what was published, and refuses the rest', async () => {
  const queue = faktory.newQueue()
  const publisher = await publisherOf({ queue })
  const published = publisher.publish('t', [])
  await publisher.close()
  await expect(published).resolves.toEqual(expect.any(String))
  expect(await failure(publisher.publish('t', []))).toMatchObject({ code: 'ERR_PREFORK_PUBLISH', message: expect.stringContaining('closed or closing') })
  expect(await failure(publisher.info())).toMatchObject({ code: 'ERR_PREFORK_PUBLISH' })
})
