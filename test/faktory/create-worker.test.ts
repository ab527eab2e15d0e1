import { createControlClient, createWorker, type WorkerOptions } from 'prefork/faktory'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WORKER_NAMES } from '../../src/faktory/create-worker.js'
import { ownFaktory, sharedFaktory } from '../fixtures/faktory.js'
import { fixture } from '../fixtures/pools.js'
import { failure, Journal, scratch, until } from '../fixtures/support.js'
import { push } from './worker/nodes.js'

const TASKS = fixture('farm-tasks.js')

describe('createWorker', () => {
  it.each([
    ['maxAttempts', 3, /no option of a node under 'faktory': Faktory tries a job again by its own rules/],
    ['backoff', { kind: 'fixed', delay: 1 }, /its own rules/],
    ['backoff', {}, /^Option 'backoff' is no option of a node under 'faktory'/],
    ['taskDefaults', {}, /rate_limit/],
    ['unknownTask', 'retry', /an unknown task fails/],
    ['unknownTaskTimeout', 5, /an unknown task fails/],
    ['prefetchPerWorker', 0, /Option 'prefetchPerWorker' must be/],
    ['fetchers', 0, /from 1 to 1000/],
    ['reserveMargin', 30_001, /at most 30000/],
    ['cancelGrace', 55_000, /leaves no time for a job: with reserveMargin \(5000 ms\) it must be below the shortest reservation, 60000 ms/],
    ['labels', [5], /labels\[0\]/],
    ['url', 'redis://x', /tcp:\/\/:password@host:7419/],
    ['control', `${scratchName()}/none/at/all`, /folder that exists/],
    ['queue', 'a b', /letters, digits/],
    ['fetcher', 5, /did you mean 'fetchers'/],
  ])('refuses %s', async (name, value, reason) => {
    const options = { tasks: TASKS, url: 'tcp://127.0.0.1:1', [name]: value } as unknown as WorkerOptions
    expect(await failure(createWorker(options))).toMatchObject({ name: 'TypeError', message: expect.stringMatching(reason) })
  })

  it('refuses two ways to name the queues, and certificates for a plain connection', async () => {
    expect(await failure(createWorker({ tasks: TASKS, queue: 'a', queues: ['b'] }))).toMatchObject({ message: expect.stringContaining('both given') })
    expect(await failure(createWorker({ tasks: TASKS, url: 'tcp://localhost', tls: {} }))).toMatchObject({ message: expect.stringContaining('tcp+tls://') })
  })

  it('has every option of a node but those that it refuses', () => {
    expect(WORKER_NAMES).toEqual(expect.arrayContaining(['tasks', 'queues', 'concurrency', 'prefetchPerWorker', 'maxLosses', 'shutdownGrace', 'control']))
    expect(WORKER_NAMES).not.toContain('maxAttempts')
  })

  it('names no option that it refuses to one who has misspelt another', async () => {
    const { message } = (await failure(createWorker({ tasks: TASKS, fetcher: 5 } as unknown as WorkerOptions))) as Error
    expect(message).toMatch(/It has: .*fetchers/)
    expect(message).not.toMatch(/maxAttempts|unknownTask/)
  })

  it('rejects with a wrong password, and shows none', async () => {
    const server = await ownFaktory({ password: 'right' })
    const error = (await failure(createWorker({ tasks: TASKS, url: server.url.replace('right', 'topsecret') }))) as Error
    expect(error).toMatchObject({ name: 'BrokerError', message: expect.stringContaining('refused the password') })
    expect(error.message).not.toContain('topsecret')
  })

  it('rejects with tasks that do not load while the server is away', async () => {
    const error = await failure(createWorker({ tasks: fixture('no-such-file.js'), url: 'tcp://127.0.0.1:1' }))
    expect(error).toMatchObject({ code: 'ERR_PREFORK_WORKER_START' })
  })

  it('waits for a server that is away', async () => {
    const server = await ownFaktory()
    await server.kill()
    const starting = createWorker({ tasks: TASKS, url: server.url, maxWorkers: 1 })
    await server.start()
    const node = await starting
    expect(node.stats().connected).toBe(true)
    await node.shutdown({ grace: 0 })
  })
})

function scratchName(): string {
  return '/tmp/prefork-there-is-no-such-folder'
}

describe('the control socket', () => {
  const faktory = sharedFaktory()

  it('is where operators reach the nodes of a path', async () => {
    const control = `${scratch()}/ctl`
    const queue = faktory.newQueue()
    const start = () => createWorker({ tasks: TASKS, url: faktory.url, queue, maxWorkers: 1, concurrency: 1, control })
    const nodes = await Promise.all([start(), start()])
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.shutdown({ grace: 0 })))
    })
    const client = await createControlClient({ control })
    onTestFinished(() => client.close())
    const names: string[] = []
    for await (const answer of client.ask('all', { command: 'ping' })) names.push(answer.node)
    expect(names.toSorted()).toEqual(nodes.map(({ name }) => name).toSorted())
    const events: string[] = []
    const stop = await client.listen((event) => events.push(event.type))
    const publisher = await faktory.connect()
    const journal = new Journal()
    await push(publisher, queue, 'mark', [journal.path, 'a'])
    await until('the operator has heard of it', () => events.includes('task.succeeded'))
    await stop()
    for await (const answer of client.ask([nodes[0]!.name], { command: 'shutdown' })) expect(answer).toMatchObject({ ok: true })
    await nodes[0]!.done
    const left: string[] = []
    for await (const answer of client.ask('all', { command: 'ping' })) left.push(answer.node)
    expect(left).toEqual([nodes[1]!.name])
  })

  it('needs a path', async () => {
    expect(await failure(createControlClient({} as never))).toMatchObject({ message: expect.stringContaining('Faktory has no exchange for commands') })
  })
})
