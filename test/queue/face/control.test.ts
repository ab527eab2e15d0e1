/** Commands to the nodes of a queue in a file, and what they tell. */
import { createControlClient, createQueue, createWorker, type FarmEvent, type FarmNode, type WorkerOptions } from 'prefork/queue'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fixture } from '../../fixtures/pools.js'
import { Journal, until } from '../../fixtures/support.js'
import { hasSqlite, StoreFile } from '../store/sqlite/files.js'

const OPTIONS = { tasks: fixture('farm-tasks.js'), minWorkers: 1, maxWorkers: 1, scaleCheckInterval: 50 } as const

describe('createControlClient', () => {
  it('says which store has no such client, and which file is not there', async () => {
    await expect(createControlClient({ store: 'memory:a' })).rejects.toThrow(/^Option 'store' must be 'sqlite:\.\/jobs\.db': a store in memory has its nodes/)
    await expect(createControlClient({ store: 'sqlite:/nowhere/jobs.db' })).rejects.toMatchObject({
      code: 'ERR_PREFORK_STORE_UNUSABLE',
      message: 'There is no file /nowhere/jobs.db, and no node at work on it: the first queue or node makes it.',
    })
    await expect(createControlClient({ stor: 'x' } as never)).rejects.toThrow("Unknown option 'stor' of createControlClient; did you mean 'store'?")
  })
})

describe.skipIf(!hasSqlite)('the nodes of a file', () => {
  let store: string
  beforeEach(() => {
    const file = new StoreFile()
    store = `sqlite:${file.path}`
    onTestFinished(() => file.remove())
  })

  const startNode = async (name: string, options: Partial<WorkerOptions> = {}): Promise<FarmNode> => {
    const node = await createWorker({ ...OPTIONS, store, name, ...options })
    onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
    return node
  }
  const start = async () => {
    const node = await startNode('alpha')
    const queue = await createQueue({ store })
    onTestFinished(() => queue.close())
    const client = await createControlClient({ store })
    onTestFinished(() => client.close())
    const ask = async (command: Parameters<typeof client.ask>[1], to: 'all' | string[] = 'all') => {
      const answers = []
      for await (const answer of client.ask(to, command, { timeout: 3_600_000 })) answers.push(answer)
      return answers
    }
    return { node, queue, client, ask }
  }

  it('obey, refuse what is no command, and tell what happens', async () => {
    const { node, queue, client, ask } = await start()
    expect(await ask({ command: 'ping' })).toMatchObject([{ node: 'alpha', ok: true, value: { state: 'running' } }])
    const heard: FarmEvent[] = []
    const stop = await client.listen((event) => heard.push(event))
    await until('its heartbeat', () => heard.length > 0)
    await (await queue.add('echo', [1], { id: 'one' })).result()
    await until('it is told', () => heard.some(({ type }) => type === 'task.succeeded'))
    expect(heard.filter((event) => 'id' in event)).toMatchObject(
      ['task.received', 'task.started', 'task.succeeded'].map((type) => ({ type, id: 'one', name: 'echo', node: 'alpha' })),
    )
    await stop()

    expect(await ask({ command: 'pause' }, ['alpha'])).toEqual([{ node: 'alpha', ok: true, value: { state: 'paused' } }])
    await queue.add('echo', [2], { id: 'two' })
    expect(await ask({ command: 'pong' } as never)).toMatchObject([
      { ok: false, error: expect.stringContaining("There is no command 'pong'; did you mean 'ping'?") },
    ])
    expect(await ask({ command: 'grow', by: -1 })).toMatchObject([{ ok: false, error: expect.stringContaining("Option 'by' must be a whole number") }])
    expect(await ask({ command: 'rate_limit', queue: 'default', limit: '100/s' })).toMatchObject([{ ok: true, value: { 'queue default': '100/s' } }])
    expect(await queue.settings()).toMatchObject({ rate: '100/s' })
    expect((await queue.counts()).waiting).toBe(1)
    expect(await ask({ command: 'resume' })).toMatchObject([{ value: { state: 'running' } }])
    await until('it runs again', async () => (await queue.counts()).completed === 2)

    expect(await ask({ command: 'shutdown' })).toMatchObject([{ ok: true, value: { state: 'draining' } }])
    await node.done
    expect(await ask({ command: 'ping' })).toEqual([])
  })

  it('warn of one of the same name', async () => {
    const warnings: unknown[] = []
    const [keep, drop] = [(_: unknown, message?: string): void => void warnings.push(message), (): void => {}]
    const logger = { trace: drop, debug: drop, info: drop, warn: keep, error: keep }
    await startNode('alpha', { logger, shutdownGrace: 60_000 })
    await startNode('beta', { logger, shutdownGrace: 60_000 })
    expect(warnings).toEqual([])
    await startNode('alpha', { logger, shutdownGrace: 60_000 })
    expect(warnings).toEqual([expect.stringContaining("Another node is named 'alpha' as well: commands to that name reach both")])
  })

  it('revoke a job that runs', async () => {
    const { queue, ask } = await start()
    const journal = new Journal()
    const job = await queue.add('spinThenMark', [journal.path, 'spins'])
    await until('it runs', async () => (await job.state()) === 'active')
    const [answer] = await ask({ command: 'revoke', id: job.id, terminate: true })
    expect(answer).toMatchObject({ ok: true, value: { id: job.id } })
    expect(await job.result().catch(({ code }) => code)).toBe('ERR_PREFORK_CANCELLED')
  })

  it('revoke a job that comes: one that starts knows of it, and once it has met the job, no node does', async () => {
    const { queue, ask } = await start()
    const remembered = async (node: string): Promise<string[]> => {
      const [answer] = await ask({ command: 'revocations', node: 'an operator' } as never, [node])
      return (answer as unknown as { value: { ids: { id: string }[] } }).value.ids.map(({ id }) => id)
    }
    expect(await ask({ command: 'revoke', id: 'later' })).toMatchObject([{ value: { id: 'later', outcome: 'remembered' } }])
    await startNode('beta')
    expect([await remembered('alpha'), await remembered('beta')]).toEqual([['later'], ['later']])
    await ask({ command: 'quiet' }, ['alpha'])
    const job = await queue.add('echo', [1], { id: 'later' })
    expect(await job.result().catch(({ code }) => code)).toBe('ERR_PREFORK_CANCELLED')
    await until('both have forgotten it', async () => (await remembered('alpha')).length + (await remembered('beta')).length === 0)
  })
})
