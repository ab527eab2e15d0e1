/** Queues and nodes on a store in a file. */
import { rmSync } from 'node:fs'
import { createQueue, createWorker, type FarmNode, type Queue, runWorker, type WorkerOptions } from 'prefork/queue'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fixture } from '../../fixtures/pools.js'
import { Journal, Latch, until } from '../../fixtures/support.js'
import { newJob } from '../store/contract.js'
import { ChildStore } from '../store/sqlite/child-store.js'
import { failThread, hasSqlite, StoreFile } from '../store/sqlite/files.js'

const OPTIONS = { tasks: fixture('farm-tasks.js'), minWorkers: 1, maxWorkers: 1 } as const

describe.skipIf(!hasSqlite)('a store in a file', () => {
  let file: StoreFile
  let store: string
  beforeEach(() => {
    file = new StoreFile()
    store = `sqlite:${file.path}`
    onTestFinished(() => file.remove())
  })

  const open = async (): Promise<Queue> => {
    const queue = await createQueue({ store })
    onTestFinished(() => queue.close())
    return queue
  }
  const startNode = async (options: Partial<WorkerOptions> = {}): Promise<FarmNode> => {
    const node = await createWorker({ ...OPTIONS, store, ...options })
    onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
    return node
  }

  it('lets a node end while a process that only adds is idle', async () => {
    const node = await startNode({ queue: 'q' })
    const child = await ChildStore.start(file.path)
    onTestFinished(() => child.kill())
    await child.open()
    await child.add(newJob({ id: 'a', body: Buffer.from('{"task":"echo","args":[]}') }))
    await until('it has run', async () => node.stats().totals.succeeded + node.stats().totals.failed > 0)
    expect((await node.shutdown({ grace: 0 })).clean).toBe(true)
  })

  it.each([
    ['the file is removed', 'ERR_PREFORK_STORE_REMOVED'],
    ['the thread fails', 'ERR_PREFORK_STORE_CLOSED'],
  ])('rejects what runs and what waits when %s', async (how, code) => {
    const queue = await open()
    const job = await queue.add('echo', [1], { delay: 600_000 })
    const journal = new Journal()
    await queue.add('mark', [journal.path, 'up'])
    const running = runWorker({ ...OPTIONS, store }).catch((error: unknown) => error)
    const result = job.result().catch((error: unknown) => error)
    await journal.seen('up')
    if (how === 'the thread fails') {
      const other = file.make()
      onTestFinished(() => other.close())
      await other.open()
      await failThread(other)
    } else rmSync(file.path)
    expect(await running).toMatchObject({ code })
    expect(await result).toMatchObject({ code })
  })

  it('says that a node did not end in order when its file is removed', async () => {
    const queue = await open()
    const journal = new Journal()
    const node = await createWorker({ ...OPTIONS, store })
    await queue.add('hold', [new Latch().path, journal.path, 'up'])
    await journal.seen('+up')
    rmSync(file.path)
    expect(await node.done).toMatchObject({ clean: false, error: { code: 'ERR_PREFORK_STORE_REMOVED' } })
  })

  it('has no session when no result is waited for any more, and another one for the next', async () => {
    const sessions = (): number => file.sql((database) => database.prepare('SELECT count(*) AS n FROM session').get()!.n as number)
    const queue = await open()
    const job = await queue.add('echo', ['late'])
    for (let times = 0; times < 2; times++) {
      const waiting = expect(job.result({ timeout: 100 })).rejects.toMatchObject({ code: 'ERR_PREFORK_RESULT_TIMEOUT' })
      await until('it has a session', () => sessions() === 1)
      await waiting
      await until('its session has ended', () => sessions() === 0)
    }
    const result = job.result()
    await until('it has a session', () => sessions() === 1)
    await startNode()
    expect(await result).toBe('late')
  })

  it('stores what was added before it was closed', async () => {
    const queue = await open()
    const adds = Array.from({ length: 3 }, (_, index) => queue.add('echo', [index], { id: `${index}` }))
    const [, ...jobs] = await Promise.all([queue.close(), ...adds])
    expect(jobs.map(({ id }) => id)).toEqual(['0', '1', '2'])
    expect((await (await open()).counts()).waiting).toBe(3)
  })

  it('lets a node end while the file is locked, and the jobs that it held run again when it is not', async () => {
    let hooks = 0
    const journal = new Journal()
    const queue = await open()
    const node = await startNode({ onShutdown: () => hooks++ })
    await queue.add('spinUnlessLost', [journal.path, 'a'], { id: 'a' })
    await journal.seen('+a')
    await until('the beginning is stored', () => file.sql((database) => database.prepare('SELECT 1 FROM job WHERE begun = 1').get()))
    await file.sqlAsync(async (database) => {
      database.exec('BEGIN IMMEDIATE')
      await node.shutdown({ grace: 0 })
      expect(hooks).toBe(1)
      await queue.close()
      database.exec('COMMIT')
    })
    await startNode()
    const again = await open()
    await until('it has run again', async () => (await again.counts()).completed === 1, 10_000)
  })
})
