import { createPublisher, createWorker, type FarmNode, listDeadLetters, type Publisher, type WorkerOptions } from 'prefork/amqp'
import { afterEach, expect, it } from 'vitest'
import { fixture } from '../fixtures/pools.js'
import { Journal } from '../fixtures/support.js'
import { admin, isolatedTopology, RABBITMQ_URL, until, withRabbit } from './rabbit.js'

/** Shutdowns and rolling restarts while jobs run, and a message that is redelivered by a classic queue. */
const JOBS = 500
/** ms of one job. */
const NAP = 40

withRabbit(`under a load of ${JOBS} jobs`, () => {
  const { queue, controlExchange, eventExchange, keep, cleanUp } = isolatedTopology()
  const nodes: FarmNode[] = []
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.shutdown({ grace: 0 })))
    await cleanUp()
  })

  const start = async (options: Partial<WorkerOptions> = {}): Promise<FarmNode> => {
    const tasks = fixture('farm-tasks.js')
    const node = await createWorker({ url: RABBITMQ_URL, queue, controlExchange, eventExchange, tasks, minWorkers: 2, maxWorkers: 2, ...options })
    nodes.push(node)
    return node
  }
  const publisher = async (queueType: 'quorum' | 'classic' = 'quorum'): Promise<Publisher> =>
    keep(await createPublisher({ url: RABBITMQ_URL, queue, queueType }))

  const ids = Array.from({ length: JOBS }, (_, i) => `job-${i}`)
  /** Publishes all jobs before a node starts. Returns the ids of the started and ended ones, in order. */
  const load = async () => {
    const journal = new Journal()
    await (await publisher()).publishMany(
      'nap',
      ids.map((id) => [NAP, journal.path, id]),
    )
    const lines = (sign: string) => (): string[] => journal.lines.flatMap((line) => (line.startsWith(sign) ? line.slice(1) : [])).sort()
    return { begun: lines('+'), ended: lines('-') }
  }
  const nothingLeft = async (): Promise<void> => {
    const { onChannel, close } = await admin()
    expect(await onChannel((channel) => channel.get(queue))).toBe(false)
    await close()
    expect(await listDeadLetters({ url: RABBITMQ_URL, queue })).toEqual([])
  }

  it('shutdowns lose no job: each ends once; those killed without grace start again', async () => {
    const { begun, ended } = await load()
    for (let n = 1; n <= 3; n++) {
      const node = await start()
      const before = ended().length
      await until('it runs jobs', () => ended().length > before + 20)
      expect(await node.shutdown({ grace: 60_000 })).toMatchObject({ clean: true, killed: 0 })
      expect(begun()).toEqual(ended())
      expect(new Set(ended()).size).toBe(ended().length)
    }
    const nodeWithoutGrace = await start()
    const before = ended().length
    await until('it runs jobs', () => ended().length > before)
    const { killed } = await nodeWithoutGrace.shutdown({ grace: 0 })
    const last = await start()
    // Not from the journal: a job may have ended there and been killed before its node received the result.
    const succeeded = (): number => nodes.reduce((sum, node) => sum + node.stats().totals.succeeded, 0)
    await until('all have ended', () => succeeded() === JOBS && last.stats().held === 0, 60_000)
    expect([...new Set(ended())]).toEqual(ids.toSorted())
    expect(begun().length - JOBS).toBeLessThanOrEqual(killed)
    await last.shutdown()
    await nothingLeft()
  }, 60_000)

  it('a rolling restart starts each job once', async () => {
    const { begun, ended } = await load()
    const node = await start()
    const pids = (): (number | undefined)[] => node.stats().workers.map(({ pid }) => pid)
    await until('both run jobs', () => ended().length > 20 && node.stats().workers.filter(({ state }) => state === 'up' || state === 'busy').length === 2)
    const before = pids()
    expect(await node.command({ command: 'restart' })).toEqual({ restarting: 2 })
    await until('each worker is another', () => pids().length === 2 && !pids().some((pid) => before.includes(pid)))
    await until('all have ended', () => ended().length >= JOBS && node.stats().held === 0, 60_000)
    await node.shutdown()
    expect(begun()).toEqual(ids.toSorted())
    expect(ended()).toEqual(ids.toSorted())
    await nothingLeft()
  }, 60_000)

  it('a redelivery of a classic queue, which does not count them, is published again with requeues + 1 and runs', async () => {
    const answer = (await publisher('classic')).call('shown', [], { messageId: 'again' })
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      await until('it was requeued', async () => {
        const message = await channel.get(queue)
        if (message !== false) channel.nack(message)
        return message !== false
      })
    })
    await close()
    const node = await start({ queueType: 'classic' })
    expect(await answer).toMatchObject({ id: 'again', attempt: 1, delivery: { attempt: 1, losses: 0, requeues: 1, redelivered: true } })
    // The answer is sent first: the end is counted once its acknowledgement was taken.
    await until('its end is counted', () => node.stats().totals.succeeded === 1)
    expect(node.stats().totals.received).toBe(2)
    await node.shutdown()
    await nothingLeft()
  })
})
