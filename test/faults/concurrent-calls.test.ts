import { existsSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { createPool, PoolClosedError, QueueFullError } from 'prefork'
import { describe, expect, it, onTestFinished } from 'vitest'
import { allUp, startPool } from '../fixtures/pools.js'
import { failure, Latch, scratch, until } from '../fixtures/support.js'

const SETTLED = ['succeeded', 'failed', 'cancelled', 'lost']

describe('promises 3, 11: concurrent calls of the pool', () => {
  it('restart() and resize() to fewer workers both resolve', async () => {
    const pool = await startPool({ workers: 3 })
    await allUp(pool, 3)
    const restarted = pool.restart()
    pool.resize(1)
    await restarted
    await until('one worker is left', () => pool.stats().workers.length === 1)
  })

  it('a getter in the arguments may submit jobs: each runs with its own, the inner ones first', async () => {
    const pool = await startPool({ watchdog: false })
    const settled: string[] = []
    pool.on('jobSettled', ({ id }) => settled.push(id))
    const inner: Promise<unknown>[] = []
    const large = (level: number) => Buffer.alloc(70_000, level)
    const nested = (level: number): object => ({
      before: `before ${level}`,
      get job() {
        if (level > 0) inner.push(pool.run('echoAll', [nested(level - 1), large(level - 1)]), pool.submit('echo', [nested(level - 1)]).result)
        return level
      },
      // Objects with the same keys as the outer ones.
      after: { before: `after ${level}`, large: large(level) },
    })
    const plain = (level: number) => ({ before: `before ${level}`, job: level, after: { before: `after ${level}`, large: large(level) } })
    const values = [await pool.run('echoAll', [nested(2), large(2)]), ...(await Promise.all(inner))]
    const expected = [[plain(2), large(2)], [plain(0), large(0)], plain(0), [plain(0), large(0)], plain(0), [plain(1), large(1)], plain(1)]
    // One by one, without a list of all bytes that differ.
    for (const [i, value] of values.entries()) expect(isDeepStrictEqual(value, expected[i])).toBe(true)
    expect(values).toHaveLength(expected.length)
    // The numbers of jobs are those of the order in which they were submitted.
    expect(settled.map((id) => Number(id.split('-').at(-1)))).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it.each(['run', 'submit'] as const)('a getter may fill the queue: its %s is refused', async (call) => {
    const pool = await startPool({ watchdog: false, maxQueue: 1 })
    const latch = new Latch()
    const holder = pool.submit('hold', [latch.path])
    await until('it runs', () => holder.accepted)
    const inner: Promise<unknown>[] = []
    const filling = {
      get value() {
        inner.push(pool.run('echo', ['inner']))
        return 'outer'
      },
    }
    const outer = failure(call === 'run' ? pool.run('echo', [filling]) : pool.submit('echo', [filling]).result)
    expect(pool.stats().queued).toBe(1)
    latch.open()
    expect(await outer).toBeInstanceOf(QueueFullError)
    expect(await Promise.all(inner)).toEqual(['inner'])
  })

  it('terminate() during a recall settles every job', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    await pool.run('sleep', [1, 0])
    const busy = pool.submit('spinFor', [3_000])
    await busy.began
    const jobs = Array.from({ length: 5 }, (_, index) => pool.submit('sleep', [1, index]))
    await until('they are written', () => jobs.every(({ state }) => state === 'written'))
    jobs[0]!.cancel()
    // The host is blocked while the answer arrives, so that terminate() runs before the answer is read.
    const end = performance.now() + 8
    while (performance.now() < end);
    await pool.terminate()
    await expect(busy.result).rejects.toThrow()
    for (const { state } of jobs) expect(SETTLED).toContain(state)
    expect(pool.stats()).toMatchObject({ queued: 0, running: 0 })
  })

  it('close() or an aborted signal ends a map that waits for its source, and closes the source', async () => {
    const pool = await startPool({ workers: 1 })
    let closed = 0
    const silent = (): AsyncIterable<[number]> => ({
      [Symbol.asyncIterator]: () => {
        let asked = 0
        return {
          next: () => (asked++ === 0 ? Promise.resolve({ done: false as const, value: [1] as [number] }) : new Promise<never>(() => {})),
          return: () => {
            closed++
            return Promise.resolve({ done: true as const, value: undefined })
          },
        }
      },
    })
    const abort = new AbortController()
    const first = pool.map('echo', silent(), { signal: abort.signal })
    await first.next()
    const waiting = first.next()
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    const second = pool.map('echo', silent())
    await second.next()
    const refused = expect(second.next()).rejects.toBeInstanceOf(PoolClosedError)
    await pool.close()
    await refused
    expect(closed).toBe(2)
  })
})

describe('promise 9: the pool does not delay', () => {
  it('the next job when an answer arrived just before the time limit', async () => {
    const pool = await startPool({ workers: 1 })
    for (let round = 0; round < 6; round++) {
      await pool.run('sleep', [95 + 2 * round, round], { timeLimit: 100 }).catch(() => {})
      expect(await pool.run('echo', [round])).toBe(round)
    }
  })

  it('ready(): it resolves as soon as a job is accepted', async () => {
    const pool = await startPool({ workers: 1, maxQueue: 1, maintainInterval: 60_000 })
    const job = pool.submit('sleep', [60_000, 'long'])
    await pool.ready()
    expect(job.state).toBe('accepted')
  })

  it('any next() of a stream, however many are pending', async () => {
    const pool = await startPool({ workers: 1, tasks: new URL('../fixtures/streams.js', import.meta.url) })
    const items = pool.stream('upTo' as never, [3] as never)
    const steps = await Promise.all([1, 2, 3, 4].map(() => items.next()))
    expect(steps.map(({ done }) => done)).toEqual([false, false, false, true])
  })

  it('a job that runs again when no replacement starts: another worker takes it', async () => {
    const module = `${scratch()}/tasks.mjs`
    const begun = `${scratch()}/begun`
    writeFileSync(
      module,
      `import { existsSync, writeFileSync } from 'node:fs'
export const wait = () => {
  if (existsSync('${begun}')) return true
  writeFileSync('${begun}', '')
  return new Promise((resolve) => setTimeout(resolve, 60_000))
}
`,
    )
    const pool = await createPool({ tasks: module, workers: 2, output: 'ignore' })
    onTestFinished(() => pool.terminate())
    await until('both are up', () => pool.stats().workers.filter(({ state }) => state === 'up').length === 2)
    writeFileSync(module, "throw new Error('a broken deploy')\n")
    const job = pool.submit('wait', [], { retryLost: 3 })
    // It is accepted before its function is called.
    await until('its function was called', () => existsSync(begun))
    process.kill(pool.stats().workers.find((worker) => worker.job !== undefined)!.pid!, 'SIGKILL')
    expect(await job.result).toBe(true)
    expect(job.attempt).toBe(2)
  })
})
