import { describe, expect, it } from 'vitest'
import { startNode, testLogger } from '../../fixtures/nodes.js'
import { Journal, Latch, until } from '../../fixtures/support.js'

describe('a node starts a worker', () => {
  it('for jobs that wait for a main thread which does not turn, although slots are free', async () => {
    const { node, server } = await startNode({ maxWorkers: 3, concurrency: 10 })
    const journal = new Journal()
    const latch = new Latch()
    for (let index = 0; index < 5; index++) server.add('holdSync', [latch.path, journal.path, index])
    await until('three run', () => journal.lines.length === 3)
    expect(node.stats()).toMatchObject({ scale: { wanted: 3, alive: 3 } })
    latch.open()
    await until('all are done', () => server.acknowledged.length === 5)
  })
})

describe('a node starts no worker', () => {
  /** Resolves when the node has looked at its backlog some times more. */
  const looks = async (broker: { depth(): Promise<number> }, count = 6): Promise<void> => {
    const { depth } = broker
    let asked = 0
    broker.depth = () => {
      asked++
      return depth.call(broker)
    }
    await until('it has looked', () => asked >= count)
  }

  it('for jobs that share one which awaits', async () => {
    const { node, server, broker } = await startNode({ maxWorkers: 3, concurrency: 10, scaleUpAfter: 1_000 })
    const journal = new Journal()
    const latch = new Latch()
    for (let index = 0; index < 10; index++) server.add('hold', [latch.path, journal.path, index])
    await until('all run', () => node.stats().running === 10)
    // For longer than scaleUpAfter: a look each 50 ms.
    await looks(broker, 25)
    expect(node.stats().scale.wanted).toBe(1)
    latch.open()
  })

  it('for what a rate limit holds back', async () => {
    const { node, server, broker } = await startNode({ maxWorkers: 3, concurrency: 1, scaleUpAfter: 20, taskDefaults: { mark: { rateLimit: '1/h' } } })
    const journal = new Journal()
    for (let index = 0; index < 5; index++) server.add('mark', [journal.path, index])
    await until('one has run', () => journal.lines.length === 1)
    await until('the others wait here', () => node.stats().held === 4)
    await looks(broker)
    expect(node.stats().scale.wanted).toBe(1)
  })

  it('for a job that runs again in the worker that replaces a dead one', async () => {
    const { node, server, broker } = await startNode({ maxWorkers: 3, concurrency: 1, scaleUpAfter: 20 })
    const journal = new Journal()
    const latch = new Latch()
    server.add('dieThenHold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    await looks(broker)
    expect(node.stats()).toMatchObject({ scale: { wanted: 1 }, totals: { lost: 1 } })
    latch.open()
  })
})

it('a node says once that its tasks mostly wait', async () => {
  const { logger, lines } = testLogger()
  const { server } = await startNode({ minWorkers: 4, concurrency: 1, heartbeatInterval: 50, logger })
  const said = (): string[] => lines.flatMap(({ msg }) => (msg.includes('mostly wait') ? [msg] : []))
  // Each takes so long that what is done around it is little, on a busy machine too.
  for (let index = 0; index < 110; index++) server.add('sleep', [100, index])
  await until('it has said so', () => said().length === 1)
  expect(said()[0]).toMatch(/used \d % of the time of 1\d\d jobs as CPU time: .*'concurrency' \(--concurrency\)/)
  for (let index = 0; index < 20; index++) server.add('sleep', [100, index])
  await until('all are done', () => server.acknowledged.length === 130)
  expect(said()).toHaveLength(1)
})
