/** The ways to run jobs, the hooks of a node, and what keeps a process alive. */
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { createQueue, createWorker, type FarmNode, type Queue, runWorker, type WorkerOptions } from 'prefork/queue'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fixture } from '../../fixtures/pools.js'
import { Journal, until } from '../../fixtures/support.js'

let stores = 0
const open = async (): Promise<{ queue: Queue; store: string }> => {
  const store = `memory:worker-test-${++stores}`
  const queue = await createQueue({ store })
  onTestFinished(() => queue.close())
  return { queue, store }
}

const OPTIONS = { tasks: fixture('farm-tasks.js'), minWorkers: 1, maxWorkers: 1, backoff: { kind: 'fixed', delay: 1 } } as const

const startNode = async (options: Partial<WorkerOptions> & { store: string }): Promise<FarmNode> => {
  const node = await createWorker({ ...OPTIONS, ...options })
  onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
  return node
}

/** A plain job, a delayed one and a schedule: which of them have run. */
const addThreeKinds = async (queue: Queue, delay = 10): Promise<Journal> => {
  const journal = new Journal()
  await queue.schedule('k', { every: 20, task: 'mark', args: [journal.path, 'tick'] })
  await queue.add('mark', [journal.path, 'delayed'], { delay })
  await queue.add('mark', [journal.path, 'plain'])
  return journal
}
const ALL = ['delayed', 'plain', 'tick']

/** A logger that keeps the messages of warnings and errors. */
const logger = (): { messages: string[]; trace(): void; debug(): void; info(): void; warn(...line: unknown[]): void; error(...line: unknown[]): void } => {
  const messages: string[] = []
  const keep = (_: unknown, message?: unknown): void => void messages.push(String(message))
  return { messages, trace: () => {}, debug: () => {}, info: () => {}, warn: keep, error: keep }
}

describe('the log of a node', () => {
  it('names a module that exports no function', async () => {
    const { store } = await open()
    const log = logger()
    await startNode({ store, tasks: fixture('no-task.js'), logger: log })
    expect(log.messages).toEqual([
      "No module of 'tasks' exports a function: this node knows no task, and each job waits for a node that does. Is the export missing?",
    ])
  })

  it.each([
    ['map', /^progress\.value is a Map: messages carry plain objects/],
    ['large', /^The progress value takes 9000\d\d bytes, and maxResultSize is 800000\.$/],
  ])('says that a progress value cannot be stored, and the job goes on: %s', async (kind, why) => {
    const { queue, store } = await open()
    const logged: unknown[] = []
    const drop = (): void => {}
    const keep = ({ err }: { err?: Error }, message?: string): void => void logged.push([message, err?.message])
    await startNode({
      store,
      maxResultSize: 800_000,
      shutdownGrace: 60_000,
      logger: { trace: drop, debug: drop, info: drop, warn: keep as never, error: keep as never },
    })
    const job = await queue.add('reportWrongProgress', [kind])
    expect(await job.result()).toBeUndefined()
    expect(logged).toEqual([['a progress value of a job is not kept, as the broker cannot carry it', expect.stringMatching(why)]])
    expect(await job.details()).toMatchObject({ state: 'completed', counts: { attempt: 1 }, progress: undefined })
  })
})

describe('the whole runtime', () => {
  it.each(['queue.run', 'runWorker'])('runs by %s until its signal aborts', async (way) => {
    const { queue, store } = await open()
    const journal = await addThreeKinds(queue)
    const controller = new AbortController()
    const { signal } = controller
    const running = way === 'runWorker' ? runWorker({ ...OPTIONS, store, signal }) : queue.run({ ...OPTIONS, signal })
    await until('all three kinds have run', () => ALL.every((line) => journal.has(line)))
    controller.abort()
    expect(await running).toMatchObject({ clean: true, killed: 0 })
    expect((await queue.counts()).active).toBe(0)
  })

  it('is not started for a signal that has aborted, nor with a queue of its own in `run`', async () => {
    const { queue, store } = await open()
    expect(await runWorker({ ...OPTIONS, store, signal: AbortSignal.abort() })).toEqual({ clean: true, requeued: 0, killed: 0 })
    await expect(queue.run({ ...OPTIONS, queue: 'x' } as never)).rejects.toThrow(/'queue' is not for queue\.run, which runs the jobs of its own queue/)
    await expect(runWorker({ ...OPTIONS, store, signal: 'x' } as never)).rejects.toThrow(/'signal'/)
  })

  it('is all of it but schedules and the delays of users in a bare worker', async () => {
    const { queue, store } = await open()
    // Longer than a busy machine takes to add the job, which would be due then.
    const journal = await addThreeKinds(queue, 60_000)
    await startNode({ store, schedulers: false })
    // It is tried again after a delay.
    expect(await (await queue.add('failUntil', [2], { backoff: { kind: 'fixed', delay: 30 } })).result()).toBe(2)
    expect(journal.lines).toEqual(['plain'])
    expect(await queue.counts()).toMatchObject({ delayed: 1, completed: 2 })
  })
})

describe('createWorker', () => {
  it.each([
    [{ queue: 'a', queues: ['b'] }, /'queue' and option 'queues'/],
    [{ queues: [] }, /'queues'/],
    [{ onStartup: 'x' }, /'onStartup'/],
    [{ onShutdown: [() => {}, 1] }, /'onShutdown\[1\]'/],
    [{ schedulers: 1 }, /'schedulers'/],
    [{ minWorker: 1 }, /did you mean 'minWorkers'/],
    [{ minWorkers: 0 }, /'minWorkers'/],
  ])('refuses %j', async (options, text) => {
    await expect(createWorker({ store: 'memory:refused', ...OPTIONS, ...options } as never)).rejects.toThrow(text)
  })

  it('leaves nothing open when its tasks cannot be loaded', async () => {
    const { queue, store } = await open()
    await queue.add('echo', [1])
    await expect(createWorker({ store, tasks: './no-such-module.js' })).rejects.toMatchObject({ code: 'ERR_PREFORK_WORKER_START' })
    expect(await queue.counts()).toMatchObject({ waiting: 1, active: 0 })
    await queue.close()
    const again = await createQueue({ store })
    expect((await again.counts()).waiting).toBe(0)
    await again.close()
  })

  it('warns of a rate limit of a task', async () => {
    const { store } = await open()
    const log = logger()
    await startNode({ store, logger: log, taskDefaults: { echo: { rateLimit: '5/s' } } })
    expect(log.messages.some((message) => message.includes('a queue of its own is better'))).toBe(true)
  })
})

describe('hooks', () => {
  it('that fail at the start end it, with nothing claimed', async () => {
    const { queue, store } = await open()
    await queue.add('echo', [1])
    const called: unknown[] = []
    const start = createWorker({
      ...OPTIONS,
      store,
      name: 'node-1',
      onStartup: [
        (info) => called.push(info),
        () => {
          throw new Error('no database')
        },
        () => called.push('third'),
      ],
      onShutdown: () => called.push('shutdown'),
    })
    await expect(start).rejects.toThrow('no database')
    expect(called).toEqual([{ store, node: 'node-1', queues: ['default'] }, 'shutdown'])
    expect(await queue.counts()).toMatchObject({ waiting: 1, active: 0 })
  })

  it('are called around the jobs; one that fails at the end is logged and costs the others nothing', async () => {
    const { queue, store } = await open()
    const log = logger()
    const called: string[] = []
    const node = await startNode({
      store,
      logger: log,
      onStartup: async () => {
        await queue.add('echo', [1])
        called.push('start')
      },
      onShutdown: [
        () => {
          throw new Error('it is closed already')
        },
        async () => {
          called.push(`end ${(await queue.counts()).active}`)
        },
      ],
    })
    await until('the job has run', async () => (await queue.counts()).completed === 1)
    await node.shutdown()
    expect(called).toEqual(['start', 'end 0'])
    expect(log.messages).toContain('A shutdown hook has failed: it is closed already')
  })
})

it('gives back at a shutdown what has not begun, and counts what it kills', async () => {
  const { queue, store } = await open()
  const journal = new Journal()
  const node = await startNode({ store, concurrency: 1 })
  const running = await queue.add('spinThenMark', [journal.path, 'spins'])
  await journal.seen('+spins')
  await queue.addBulk(Array.from({ length: 5 }, () => ({ task: 'echo', args: [1] })))
  const report = await node.shutdown({ grace: 0 })
  expect(report).toMatchObject({ clean: false, killed: 1 })
  expect(await queue.counts()).toMatchObject({ waiting: 6, active: 0 })
  expect(await running.details()).toMatchObject({ counts: { attempt: 1, losses: 1 } })
})

describe('a process', () => {
  const run = (script: string): Promise<{ stdout: string; exitCode?: number }> =>
    execa(process.execPath, ['--input-type=module', '--eval', script], { cwd: fileURLToPath(new URL('../../..', import.meta.url)), timeout: 20_000 })

  it('that adds a job and closes nothing ends by itself', async () => {
    const script = `
      import { createQueue } from 'prefork/queue'
      const queue = await createQueue({ store: 'memory:' })
      queue.on('completed', () => {})
      await queue.schedule('k', { every: 10, task: 'x', args: [] })
      console.log((await queue.add('x', [], { delay: 60_000, ttl: 70_000 })).added)`
    expect((await run(script)).stdout).toBe('true')
  })

  it('that waits for a result lives until it has it', async () => {
    const script = `
      import { createQueue } from 'prefork/queue'
      const queue = await createQueue({ store: 'memory:' })
      const job = await queue.add('x', [], { ttl: 300 })
      console.log(await job.result().catch((error) => error.code))`
    expect((await run(script)).stdout).toBe('ERR_PREFORK_EXPIRED')
  })
})
