import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createNode, type NodeOptions } from 'prefork/node'
import { decodeReply } from 'prefork/runtime'
import { describe, expect, it, onTestFinished } from 'vitest'
import { summarizeProfile } from '../../src/runtime/report/profile-summary.js'
import type { CpuProfile } from '../../src/wire/cpu-profile.js'
import { MemoryBroker, MemoryServer } from '../fixtures/memory-broker.js'
import { settled, startNode, testLogger } from '../fixtures/nodes.js'
import { fixture } from '../fixtures/pools.js'
import { childrenOf, failure, gone, Journal, Latch, scratch, until } from '../fixtures/support.js'

it('a job goes from the broker to a worker, and is acknowledged when it is done', async () => {
  const { node, broker, server } = await startNode()
  const id = server.add('echo', ['hello'], { replyTo: 'me' })
  await until('it is acknowledged', () => server.acknowledged.includes(id))
  expect(server.replies).toMatchObject([{ id, ok: true }])
  expect(broker.unsettled).toBe(0)
  expect(node.stats()).toMatchObject({ state: 'running', connected: true, held: 0, totals: { received: 1, succeeded: 1 } })
  expect(broker.events.map(({ type }) => type).filter((type) => type !== 'node.heartbeat')).toEqual([
    'node.up',
    'worker.up',
    'task.received',
    'task.started',
    'task.succeeded',
  ])
  expect(await node.shutdown()).toEqual({ clean: true, requeued: 0, killed: 0 })
  expect(broker.events.at(-1)).toMatchObject({ type: 'node.down' })
})

describe('workers', () => {
  it('grow by what waits up to the maximum, and the prefetch with them; those that are not needed are retired down to the minimum', async () => {
    const farm = await startNode({ minWorkers: 1, maxWorkers: 3, prefetchPerWorker: 2, keepAlive: 500 })
    const { node, server, broker } = farm
    expect(node.stats()).toMatchObject({ prefetch: 2, scale: { min: 1, max: 3, wanted: 1, alive: 1, auto: true } })
    const journal = new Journal()
    const latch = new Latch()
    for (let index = 0; index < 20; index++) server.add('hold', [latch.path, journal.path, `h${index}`])
    await until('three are busy', () => node.stats().scale.alive === 3 && node.stats().running === 6)
    expect(node.stats()).toMatchObject({ prefetch: 6, held: 6, depth: expect.any(Number) })
    expect(broker.capacities).toEqual([2, 4, 6])
    latch.open()
    await until('one is left', () => node.stats().workers.length === 1 && node.stats().prefetch === 2)
    expect(server.acknowledged).toHaveLength(20)
    expect(broker.mostUnsettled).toBe(6)
  })

  it('stay as they are while the broker cannot be asked', async () => {
    const farm = await startNode({ minWorkers: 1, maxWorkers: 3, prefetchPerWorker: 1 })
    farm.broker.depthFails = true
    const journal = new Journal()
    const latch = new Latch()
    for (let index = 0; index < 9; index++) farm.server.add('hold', [latch.path, journal.path, `h${index}`])
    await journal.seen('+h0')
    let asked = 0
    const depth = farm.broker.depth.bind(farm.broker)
    farm.broker.depth = () => {
      asked++
      return depth()
    }
    await until('it was asked some times', () => asked > 3)
    expect(farm.node.stats().scale).toMatchObject({ wanted: 1, alive: 1 })
    latch.open()
  })

  it('that die are replaced, and the broker never delivers more than the prefetch', async () => {
    const farm = await startNode({ minWorkers: 2, prefetchPerWorker: 3, concurrency: 3 })
    const journal = new Journal()
    for (let index = 0; index < 30; index++) {
      farm.server.add('sleep', [2, index])
      if (index % 10 === 0) farm.server.add('dieOnAttempts', [1, journal.path, 'x'])
    }
    await until('all are done', () => farm.server.acknowledged.length === 33, 30_000)
    expect(farm.broker.mostUnsettled).toBeLessThanOrEqual(6)
  })

  it('load the imports before any task', async () => {
    const directory = scratch()
    writeFileSync(join(directory, 'boot.mjs'), "process.env.BOOTED = 'yes'\n")
    const farm = await startNode({ imports: [join(directory, 'boot.mjs')] })
    farm.server.add('env', ['BOOTED'], { replyTo: 'me' })
    await until('it is answered', () => farm.server.replies.length === 1)
    expect(decodeReply(farm.server.replies[0]!.body)).toEqual({ ok: true, value: 'yes' })
  })

  it.each([
    ['jobs', { maxJobsPerWorker: 3 }, 1_000],
    ['memory', { maxMemoryPerWorker: 150_000_000 }, 40_000_000],
  ])('are replaced by %s', async (_, options, size) => {
    const farm = await startNode({ prefetchPerWorker: 1, ...options })
    const { workers } = farm.node.stats()
    for (let index = 0; index < 4; index++) farm.server.add('leakBytes', [size])
    await until('all are done', () => farm.server.acknowledged.length === 4, 20_000)
    await until('the first has ended', () => !farm.node.stats().workers.some(({ id }) => id === workers[0]!.id))
  })
})

describe('a command', () => {
  it('is executed and answered', async () => {
    const farm = await startNode({ minWorkers: 1, maxWorkers: 4, name: 'node-1' })
    const { node } = farm
    const ask = (command: unknown): Promise<unknown> => farm.broker.command!(command as never)
    expect(await ask({ command: 'ping' })).toMatchObject({ node: 'node-1', state: 'running', at: expect.any(Number) })
    expect(await ask({ command: 'grow', by: 2 })).toMatchObject({ min: 3, max: 4, wanted: 3 })
    await until('three are up', () => node.stats().scale.alive === 3)
    expect(await ask({ command: 'shrink' })).toMatchObject({ min: 2, max: 2, wanted: 2, auto: false })
    expect(await ask({ command: 'autoscale', min: 1, max: 5 })).toMatchObject({ min: 1, max: 5, auto: true })
    expect(await ask({ command: 'stats' })).toMatchObject({ node: 'node-1', version: expect.stringMatching(/^\d+\.\d+/), queues: ['jobs'] })
    expect(await ask({ command: 'snapshot' })).toMatchObject({ stats: { node: 'node-1' }, tasks: [] })
    expect(await ask({ command: 'shutdown', grace: 100 })).toEqual({ state: 'draining' })
    await node.done
    expect(await failure(ask({ command: 'grow' }))).toMatchObject({ message: expect.stringContaining('shuts down') })
  })

  it('that changes the node is a line of its log; one that asks is none', async () => {
    const { logger, lines } = testLogger()
    const { node } = await startNode({ minWorkers: 1, maxWorkers: 2, logger })
    await node.command({ command: 'stats' })
    await node.command({ command: 'pause' })
    await node.command({ command: 'resume' })
    await node.command({ command: 'quiet' })
    await node.command({ command: 'grow', by: 1 })
    await node.command({ command: 'shrink' })
    await node.command({ command: 'autoscale', min: 1, max: 2 })
    await node.command({ command: 'rate_limit', task: 'add', limit: '10/s' })
    await node.command({ command: 'revoke', id: 'x' })
    const carriedOut = lines.filter(({ msg, level }) => msg === 'command carried out' && level === 'info')
    expect(carriedOut).toMatchObject([
      { command: 'pause', answer: { state: 'paused' } },
      { command: 'resume', answer: { state: 'running' } },
      { command: 'quiet' },
      { command: 'grow', by: 1, answer: { min: 2, max: 2, wanted: 2 } },
      { command: 'shrink', answer: { min: 1, max: 1, wanted: 1, auto: false } },
      { command: 'autoscale', min: 1, max: 2 },
      { command: 'rate_limit', task: 'add', limit: '10/s' },
      { command: 'revoke', id: 'x', answer: { outcome: 'remembered' } },
    ])
  })

  it('stack and profile show what a busy worker is executing', async () => {
    const farm = await startNode()
    farm.server.add('spinFor', [600_000], { id: 'spins' })
    await until('it runs', () => farm.node.stats().running === 1)
    const [worker] = farm.node.stats().workers
    expect(worker).toMatchObject({ job: { id: 'spins', name: 'spinFor' } })
    // It counts as running once the worker has accepted it, which may be before the task is entered.
    await until('the stack shows the task', async () => {
      const { stack } = (await farm.node.command({ command: 'stack', worker: worker!.id })) as { stack: string }
      return stack.includes('spinFor')
    })
    expect(await failure(farm.node.command({ command: 'stack', worker: 99 }))).toBeInstanceOf(RangeError)
    const { profile } = (await farm.node.command({ command: 'profile', worker: worker!.id, ms: 300 })) as { profile: CpuProfile }
    expect(summarizeProfile(profile).calls[0]!.name).toBe('spinFor')
    for (const ms of [0, 60_001, '5'])
      expect(await failure(farm.node.command({ command: 'profile', worker: 1, ms } as never))).toMatchObject({ name: 'TypeError', option: 'ms' })
    await farm.node.command({ command: 'revoke', id: 'spins', terminate: true })
  })
})

/** The file that lists the starts of `starts/slow.js`; each takes so long, ms. */
const slowStarts = (loadMs: number): Journal => {
  const starts = new Journal()
  Object.assign(process.env, { PREFORK_TEST_STARTS: starts.path, PREFORK_TEST_LOAD_MS: String(loadMs) })
  onTestFinished(() => {
    delete process.env.PREFORK_TEST_STARTS
    delete process.env.PREFORK_TEST_LOAD_MS
  })
  return starts
}

describe('a node', () => {
  it('emits heartbeats with the stall of each main thread', async () => {
    const farm = await startNode({ heartbeatInterval: 20 })
    farm.server.add('spinFor', [600])
    await until('a heartbeat shows the stall', () =>
      farm.broker.events.some((event) => event.type === 'node.heartbeat' && event.stats.workers.some(({ stalled }) => stalled > 100)),
    )
    expect(farm.broker.events.every(({ node, at }) => node === farm.node.name && at > 0)).toBe(true)
  })

  it('warns of defaults for unknown tasks, unless tasks are found by their path', async () => {
    const warnings: string[] = []
    const log = (): void => {}
    const options: Partial<NodeOptions> = {
      shutdownGrace: 60_000,
      taskDefaults: { ecko: { maxAttempts: 1 }, echo: { maxAttempts: 1 }, completelyElse: {} },
      logger: { trace: log, debug: log, info: log, error: log, warn: (_, text) => warnings.push(text) },
    }
    await startNode(options)
    expect(warnings).toEqual([
      "taskDefaults names 'ecko', and there is no such task; did you mean 'echo'? What it says is used for none.",
      "taskDefaults names 'completelyElse', and there is no such task. What it says is used for none.",
    ])
    await startNode({ ...options, roots: [import.meta.dirname] })
    expect(warnings).toHaveLength(2)
  })

  it('warns of a grace shorter than the longest soft limit, and gives the broker the longest delivery', async () => {
    const warnings: string[] = []
    const log = (): void => {}
    const server = new MemoryServer()
    const broker = new MemoryBroker(server)
    const about: unknown[] = []
    const start = broker.start.bind(broker)
    broker.start = (ahead?: unknown) => {
      about.push(ahead)
      return start()
    }
    await startNode(
      { shutdownGrace: 500, timeLimit: 70_000, logger: { trace: log, debug: log, info: log, error: log, warn: (_, text) => warnings.push(text) } },
      server,
      broker,
    )
    expect(warnings).toEqual([expect.stringMatching(/grace.*500 ms.*60000 ms/)])
    expect(about).toEqual([{ longestDelivery: 70_500, memory: expect.any(Function), state: expect.any(Function) }])
  })

  it('does not start with tasks that do not load, nor with a broker that refuses; no process is left', async () => {
    const server = new MemoryServer()
    const unloaded = new MemoryBroker(server)
    const refused = await failure(createNode(unloaded, { tasks: fixture('starts/throws.js') }))
    expect(refused).toMatchObject({ code: 'ERR_PREFORK_WORKER_START' })
    const broker = new MemoryBroker(server)
    broker.start = () => Promise.reject(new Error('the queue is another'))
    expect(await failure(createNode(broker, { tasks: fixture('farm-tasks.js') }))).toMatchObject({ message: 'the queue is another' })
    expect([unloaded.closed, broker.closed]).toEqual([true, true])
  })

  it('starts no worker before the broker is connected', async () => {
    const broker = new MemoryBroker(new MemoryServer())
    const starts = new Journal()
    process.env.PREFORK_TEST_STARTS = starts.path
    onTestFinished(() => {
      delete process.env.PREFORK_TEST_STARTS
    })
    broker.connect = () => Promise.reject(new Error('login refused'))
    expect(await failure(createNode(broker, { tasks: fixture('starts/throws.js') }))).toMatchObject({ message: 'login refused' })
    expect(broker.closed).toBe(true)
    expect(starts.lines).toEqual([])
  })

  it('reports tasks that do not load while the broker cannot be reached, and leaves no process', async () => {
    const broker = new MemoryBroker(new MemoryServer())
    broker.connect = () => new Promise(() => {})
    const before = childrenOf(process.pid).map(({ pid }) => pid)
    expect(await failure(createNode(broker, { tasks: fixture('no-such-module.js') }))).toMatchObject({
      code: 'ERR_PREFORK_WORKER_START',
      message: expect.stringContaining('no-such-module.js'),
    })
    expect(broker.closed).toBe(true)
    await until('no process is left', () => childrenOf(process.pid).every(({ pid }) => before.includes(pid)))
  })

  it('ends the worker that probes its tasks when the broker refuses meanwhile', async () => {
    const starts = slowStarts(600_000)
    const broker = new MemoryBroker(new MemoryServer())
    let refuse = (): void => {}
    broker.connect = () =>
      new Promise((_, reject) => {
        refuse = () => reject(new Error('login refused'))
      })
    const starting = failure(createNode(broker, { tasks: fixture('starts/slow.js') }))
    await until('one was started', () => starts.lines.length > 0)
    refuse()
    expect(await starting).toMatchObject({ message: 'login refused' })
    // Sooner than a start timeout would have ended it.
    await gone(starts.lines.map(Number), 3_500)
    expect(starts.lines).toHaveLength(1)
  })

  it('probes its tasks once while the broker cannot be reached, in a worker that ends, and takes jobs when it is connected', async () => {
    const starts = slowStarts(0)
    const server = new MemoryServer()
    const broker = new MemoryBroker(server)
    let arrive = (): void => {}
    broker.connect = () =>
      new Promise((resolve) => {
        arrive = () => {
          broker.reconnect()
          resolve()
        }
      })
    const id = server.add('pid', [], { replyTo: 'me' })
    const starting = startNode({ tasks: fixture('starts/slow.js'), minWorkers: 2 }, server, broker)
    await until('one was started', () => starts.lines.length > 0)
    await gone(starts.lines.map(Number))
    expect([starts.lines.length, broker.capacities]).toEqual([1, []])
    arrive()
    const farm = await starting
    await settled(farm)
    expect(server.acknowledged).toEqual([id])
    expect(starts.lines.slice(1).map((pid) => ({ ok: true, value: Number(pid) }))).toContainEqual(decodeReply(server.replies[0]!.body))
  })
})

describe('priorities', () => {
  it('a held job starts although jobs of higher priority arrive without end', async () => {
    const { server, node } = await startNode({ prefetchPerWorker: 10, concurrency: 1 })
    const journal = new Journal()
    const latch = new Latch()
    server.add('holdSync', [latch.path, journal.path, 'first'])
    await journal.seen('+first')
    // None of them is short: short jobs would be written ahead to the worker, and more would be needed.
    const add = (line: string, priority: number): string => server.add('sleepThenMark', [8, journal.path, line], { priority })
    add('low 1', 0)
    add('low 2', 0)
    for (let index = 0; index < 40; index++) add('urgent', 1)
    await until('all the room is taken', () => node.stats().held === 10)
    latch.open()
    await until('all are done', () => server.acknowledged.length === 43)
    const lines = journal.lines.filter((line) => !line.includes('first'))
    // Eight jobs of higher priority start before the first, and eight more before the second.
    expect(lines.indexOf('low 1')).toBeLessThanOrEqual(8)
    expect(lines.indexOf('low 2')).toBeLessThanOrEqual(17)
  })
})
