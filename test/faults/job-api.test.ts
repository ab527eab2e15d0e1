import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { fixture, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Latch, until } from '../fixtures/support.js'

describe('a job', () => {
  const shared = sharedPool({ tasks: fixture('job-context.js'), concurrency: 4 })

  it('exposes its id, name, state and attempt until it settles', async () => {
    const pool = await startPool()
    const latch = new Latch()
    const job = pool.submit('hold', [latch.path], { id: 'my own' })
    expect(job).toMatchObject({ id: 'my own', name: 'hold', accepted: false, attempt: 1, softTimedOut: false, logs: [] })
    expect(job.state).toBe('queued')
    await until('it runs', () => job.accepted)
    expect(job.state).toBe('accepted')
    expect(await job.began).toBe(true)
    latch.open()
    await job.result
    expect(job.state).toBe('succeeded')
    expect(job.accepted).toBe(true)
  })

  it('tells which worker has it, or ran it last', async () => {
    const pool = await startPool({ dispatch: 'fair' })
    const latch = new Latch()
    const settled: unknown[] = []
    pool.on('jobSettled', ({ worker }) => settled.push(worker))
    const [first, second] = [1, 2].map(() => pool.submit('hold', [latch.path]))
    expect([first!.worker, second!.worker]).toEqual([undefined, undefined])
    await until('it runs', () => first!.accepted)
    const { id } = pool.stats().workers[0]!
    expect([first!.worker, second!.worker]).toEqual([id, undefined])
    second!.cancel()
    latch.open()
    await first!.result
    expect([first!.worker, second!.worker]).toEqual([id, undefined])
    expect(settled).toEqual([undefined, id])
    const again = pool.submit('dieOnAttempts', [1], { retryLost: 1 })
    expect(await again.result).toBe(2)
    expect(again.worker).not.toBe(id)
    expect(settled.at(-1)).toBe(again.worker)
    const refused = pool.submit('noSuchTask', [])
    expect(refused.worker).toBeUndefined()
    await expect(refused.result).rejects.toThrow('no task')
  })

  it('has a worker while it is written ahead, and none when that has given it back', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const latch = new Latch()
    const holder = pool.submit('holdSync', [latch.path])
    await until('it runs', () => holder.accepted)
    const [cancelled, withdrawn, other] = [1, 2, 3].map((id) => pool.submit('echo', [id]))
    await until('they are written', () => other!.state === 'written')
    expect([cancelled, withdrawn, other].map((job) => job!.worker)).toEqual(Array(3).fill(holder.worker))
    cancelled!.cancel()
    expect(cancelled!.worker).toBeUndefined()
    expect(await withdrawn!.withdraw()).toBe(true)
    expect(withdrawn!.worker).toBeUndefined()
    latch.open()
    await other!.result
    expect(other!.worker).toBe(holder.worker)
  })

  it('has a unique id unless one is given', async () => {
    const jobs = [1, 2, 3].map(() => shared.pool.submit('about', []))
    const ids = jobs.map((job) => job.id)
    expect(new Set(ids).size).toBe(3)
    expect((await Promise.all(jobs.map((job) => job.result))) as { id: string }[]).toMatchObject(ids.map((id) => ({ id })))
  })

  it('shows the task its id, name, attempt, context and signal', async () => {
    const context = { user: 7, at: new Date(3) }
    expect(await shared.pool.run('about', [], { id: 'x', context })).toEqual({ id: 'x', name: 'about', attempt: 1, context, aborted: false })
    expect(await shared.pool.run('about', [])).toMatchObject({ context: undefined })
  })

  it('is the current job of its own task among several, after awaits too', async () => {
    const jobs = [30, 10, 20, 1].map((ms) => shared.pool.submit('aboutLater', [ms]))
    for (const job of jobs) expect(await job.result).toEqual([job.id, job.id])
  })

  it('reports progress: the first value at once, the last before the result', async () => {
    const latch = new Latch()
    const job = shared.pool.submit('count', [5_000, latch.path])
    const seen: unknown[] = []
    let settled = false
    job.result.then(() => {
      settled = true
    })
    const late: unknown[] = []
    job.on('progress', (value) => (settled ? late : seen).push(value))
    await until('the first is seen', () => seen.length > 0)
    expect(seen).toEqual([0])
    expect(settled).toBe(false)
    latch.open()
    expect(await job.result).toBe(5_000)
    expect(seen.at(-1)).toBe(5_000)
    expect(late).toEqual([])
    expect(seen).toEqual([...seen].sort((a, b) => Number(a) - Number(b)))
  })

  it('removes a progress listener', async () => {
    const job = shared.pool.submit('count', [3])
    const seen: unknown[] = []
    const listener = (value: unknown): void => {
      seen.push(value)
    }
    job.on('progress', listener)
    job.off('progress', listener)
    await job.result
    expect(seen).toEqual([])
  })

  /** The rejections that nobody handled while `act` ran. */
  const unhandledIn = async (act: () => Promise<void> | void): Promise<unknown[]> => {
    const raised: unknown[] = []
    const note = (reason: unknown): void => {
      raised.push(reason)
    }
    process.on('unhandledRejection', note)
    try {
      await act()
      await new Promise((resolve) => setTimeout(resolve, 20))
      return raised
    } finally {
      process.off('unhandledRejection', note)
    }
  }

  it('raises no unhandledRejection when its result is not awaited', async () => {
    const pool = await startPool({ maxQueue: 2 })
    const raised = await unhandledIn(async () => {
      const job = pool.submit('exitWith', [1])
      for (const value of [() => {}, 'waits', 'waits too', 'is refused: the queue is full']) pool.run('echo', [value])
      pool.run('echo', [], { context: () => {} })
      await until('it is lost', () => job.state === 'lost')
      await pool.close()
      pool.run('echo', [1])
      pool.run('noSuchTask', [1])
    })
    expect(raised).toEqual([])
  })

  it('raises unhandledRejection when a call that is a mistake is not awaited, by run and by submit alike', async () => {
    const pool = await startPool()
    const calls = [
      (call: 'run' | 'submit') => pool[call]('ehco', [1]),
      (call: 'run' | 'submit') => pool[call]('echo', [1], { timelimit: 1 } as never),
      (call: 'run' | 'submit') => pool[call]('echo', [1], { timeLimit: 0 }),
      (call: 'run' | 'submit') => pool[call]('echo', 'one' as never),
      (call: 'run' | 'submit') => pool[call](undefined as never),
    ]
    const raised = await unhandledIn(() => {
      for (const call of calls) {
        call('run')
        call('submit')
      }
    })
    const messages = ["There is no task 'ehco'", "Unknown option 'timelimit'", "Option 'timeLimit' must be", 'are an array', 'called by its name']
    expect(raised.map((error) => (error as Error).message)).toEqual(messages.flatMap((text) => [expect.stringContaining(text), expect.stringContaining(text)]))
    // The stack names the call.
    for (const error of raised) expect((error as Error).stack).toContain('job-api.test.ts')
  })

  it('raises none for a mistake whose rejection is awaited, of a map neither', async () => {
    const pool = await startPool()
    const raised = await unhandledIn(async () => {
      await expect(pool.run('ehco')).rejects.toThrow('no task')
      await expect(pool.submit('ehco').result).rejects.toThrow('no task')
      const results = pool.map('sleep', [[50], 'no array' as never])
      await new Promise((resolve) => setTimeout(resolve, 5))
      await expect(results.next()).rejects.toThrow('is an array')
      const stream = pool.stream('ehco' as never)
      await new Promise((resolve) => setTimeout(resolve, 5))
      await expect(stream.next()).rejects.toThrow('no task')
    })
    expect(raised).toEqual([])
  })

  it('calls listeners in the async context of the caller', async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const calls = ['a', 'b', 'c'].map((name) =>
      storage.run(name, async () => {
        const job = shared.pool.submit('count', [2])
        job.on('progress', () => seen.push([name, storage.getStore()]))
        const fromThen = job.result.then(() => storage.getStore())
        await job.result
        return [storage.getStore(), await fromThen]
      }),
    )
    expect(await Promise.all(calls)).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'c'],
    ])
    expect(seen.length).toBeGreaterThanOrEqual(6)
    for (const [name, store] of seen as [string, string][]) expect(store).toBe(name)
  })

  it('keeps the async context in streams, maps and the source of a map', async () => {
    const pool = await startPool({ tasks: [fixture('streams.js'), fixture('second.js')] })
    const storage = new AsyncLocalStorage<string>()
    const seen = new Set<unknown>()
    await storage.run('mine', async () => {
      for await (const _ of pool.stream('upTo', [40])) seen.add(storage.getStore())
      const source = (function* () {
        for (let index = 0; index < 20; index += 1) {
          seen.add(storage.getStore())
          yield []
        }
      })()
      for await (const _ of pool.map('second', source)) seen.add(storage.getStore())
      await failure(pool.run('noSuchTask', []))
      seen.add(storage.getStore())
    })
    expect([...seen]).toEqual(['mine'])
  })
})
