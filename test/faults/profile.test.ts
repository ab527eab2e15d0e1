/** `pool.profile`: what a worker executes, while it goes on executing it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { type CpuProfile, PreforkError, SoftTimeLimitError, TimeLimitError, WorkerLostError } from 'prefork'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject } from '../docs/document.js'
import { fixture, startPool, type TestPool } from '../fixtures/pools.js'
import { failure, freeze, Journal, Latch, scratch, until, within } from '../fixtures/support.js'

const tasks = fixture('profiled-tasks.js')
const workerOf = (pool: TestPool): number => pool.stats().workers[0]!.id
const pidOf = (pool: TestPool): number => pool.stats().workers[0]!.pid!
const threadsOf = (pid: number): number => readdirSync(`/proc/${pid}/task`).length
const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** The samples of each function, without its callers and what it calls. */
const hitsOf = (profile: CpuProfile): Record<string, number> => {
  const hits: Record<string, number> = {}
  for (const { callFrame, hitCount } of profile.nodes) hits[callFrame.functionName] = (hits[callFrame.functionName] ?? 0) + hitCount
  return hits
}

const heaviest = (profile: CpuProfile): string => Object.entries(hitsOf(profile)).sort((a, b) => b[1] - a[1])[0]![0]

const isWhole = ({ nodes, samples, timeDeltas }: CpuProfile): boolean => {
  const ids = new Set(nodes.map(({ id }) => id))
  return samples.length === timeDeltas.length && samples.every((id) => ids.has(id)) && nodes.every(({ children = [] }) => children.every((id) => ids.has(id)))
}

/** A job that has begun. */
const begun = async (pool: TestPool, task: string, ...args: unknown[]) => {
  const journal = new Journal()
  const job = pool.submit(task, [journal.path, ...args])
  await journal.seen('there')
  return job
}

describe('a profile', () => {
  it.each([
    ['loops', 'multiplies'],
    ['loopsAfterAwaits', 'multiplies'],
    ['idle', '(idle)'],
  ])('of the task %s names %s, and the job goes on', async (task, name) => {
    const pool = await startPool({ tasks })
    const latch = new Latch()
    const job = await begun(pool, task, latch.path)
    const profile = await pool.profile(workerOf(pool), 500)
    expect(heaviest(profile)).toBe(name)
    expect(isWhole(profile)).toBe(true)
    expect(profile.samples.length).toBeGreaterThan(10)
    expect(profile.samples.length).toBeLessThan(1_500)
    expect(profile.endTime - profile.startTime).toBeGreaterThanOrEqual(500_000)
    expect(job.state).toBe('accepted')
    latch.open()
    expect(await job.result).toBe(task === 'loops' ? 'number' : 'done')
    expect(await pool.run('value', ['after it'])).toBe('after it')
  })

  it('names a loop that V8 had optimized while it ran', async () => {
    const pool = await startPool({ tasks })
    const job = await begun(pool, 'loopsForever')
    expect(heaviest(await pool.profile(workerOf(pool), 500))).toBe('loopsForever')
    job.cancel()
    await failure(job.result)
  })

  it('of an idle worker is idle', async () => {
    const pool = await startPool({ tasks })
    expect(heaviest(await pool.profile(workerOf(pool), 200))).toBe('(idle)')
  })

  it('waits for native code to return', async () => {
    const pool = await startPool({ tasks })
    const job = await begun(pool, 'waitsFor', 1_000)
    const profile = await pool.profile(workerOf(pool), 100)
    expect(isWhole(profile)).toBe(true)
    expect(await job.result).toBe('done')
  })

  it('of stacks that are like no other is bounded', async () => {
    const pool = await startPool({ tasks })
    const latch = new Latch()
    const job = await begun(pool, 'stacks', latch.path)
    const profile = await pool.profile(workerOf(pool), 1_000)
    expect(profile.nodes.length).toBeLessThanOrEqual(4_000)
    // What several samples share is kept: all of them are in a call of the first function.
    expect(profile.nodes.map(({ callFrame }) => callFrame.url)).toContain('file:///the/path/of/an/application/module-0.js')
    expect(JSON.stringify(profile).length).toBeLessThan(1_500_000)
    expect(isWhole(profile)).toBe(true)
    expect(job.state).toBe('accepted')
    latch.open()
    expect(await job.result).toBe('done')
  })

  it('twenty in a row leave nothing behind', async () => {
    const pool = await startPool({ tasks })
    const id = workerOf(pool)
    const pid = pidOf(pool)
    await pool.profile(id, 20)
    const before = [threadsOf(pid), filesOf(pid)]
    for (let n = 0; n < 20; n++) expect(isWhole(await pool.profile(id, 10))).toBe(true)
    await until('no thread and no descriptor is left', () => threadsOf(pid) <= before[0]! && filesOf(pid) <= before[1]!)
    expect(workerOf(pool)).toBe(id)
    expect(await pool.run('value', [1])).toBe(1)
  })
})

describe('while a worker is profiled', () => {
  it('a soft limit interrupts its job, and the profile is whole', async () => {
    const pool = await startPool({ tasks })
    const [id, pid] = [workerOf(pool), pidOf(pool)]
    const journal = new Journal()
    const job = pool.submit('loops', [journal.path, new Latch().path], { softTimeLimit: 2_000 })
    await journal.seen('there')
    const [profile, error] = await Promise.all([pool.profile(id, 3_500), failure(job.result)])
    expect(error).toBeInstanceOf(SoftTimeLimitError)
    expect(hitsOf(profile)).toMatchObject({ multiplies: expect.any(Number), '(idle)': expect.any(Number) })
    expect(await pool.run('value', [1])).toBe(1)
    expect(pidOf(pool)).toBe(pid)
  })

  it('a cancellation interrupts its job', async () => {
    const pool = await startPool({ tasks })
    const pid = pidOf(pool)
    const job = await begun(pool, 'loopsForever')
    const profiled = pool.profile(workerOf(pool), 1_500)
    await new Promise((resolve) => setTimeout(resolve, 300))
    job.cancel(new Error('enough'))
    expect(await failure(job.result)).toMatchObject({ message: 'enough' })
    expect(await pool.run('value', [1])).toBe(1)
    expect(isWhole(await profiled)).toBe(true)
    expect(pidOf(pool)).toBe(pid)
  })

  it('a time limit kills it, and there is no profile', async () => {
    const pool = await startPool({ tasks })
    const journal = new Journal()
    const job = pool.submit('loops', [journal.path, new Latch().path], { timeLimit: 500 })
    await journal.seen('there')
    const profiled = failure(pool.profile(workerOf(pool), 60_000))
    expect(await failure(job.result)).toBeInstanceOf(TimeLimitError)
    expect(await profiled).toMatchObject({ code: 'ERR_PREFORK_PROFILE' })
  })

  it('values of a stream arrive as they left', async () => {
    const pool = await startPool({ tasks })
    const profiled = pool.profile(workerOf(pool), 1_000)
    let count = 0
    for await (const item of pool.stream('floods', [300, 300_000])) {
      const bytes = item as Buffer
      expect([bytes.length, bytes[0], bytes.at(-1)]).toEqual([300_000, count % 251, count % 251])
      count++
    }
    expect(count).toBe(300)
    expect(isWhole(await profiled)).toBe(true)
  })

  it('heartbeats, stacks and the answers to recalls go on', async () => {
    const pool = await startPool({ tasks, dispatch: 'fast', workers: 1 })
    const latch = new Latch()
    const job = await begun(pool, 'stacks', latch.path)
    const id = workerOf(pool)
    const profiled = pool.profile(id, 1_000)
    for (let n = 0; n < 20; n++) {
      const behind = pool.submit('value', [n])
      expect(await within(behind.withdraw(), 5_000, 'a withdrawal')).toBe(true)
      await within(pool.stack(id), 5_000, 'a stack')
      await failure(behind.result)
    }
    expect(isWhole(await profiled)).toBe(true)
    latch.open()
    expect(await job.result).toBe('done')
  })
})

describe('there is no profile', () => {
  const refused = (why: RegExp) => ({ code: 'ERR_PREFORK_PROFILE', message: expect.stringMatching(why) })

  it.each([
    ['is killed', (pool: TestPool) => void process.kill(pidOf(pool), 'SIGKILL')],
    ['is ended', (pool: TestPool) => pool.end(workerOf(pool), 'a test')],
    ['is replaced', (pool: TestPool) => void pool.restart().catch(() => {})],
    ['closes', (pool: TestPool) => void pool.close()],
    ['is terminated', (pool: TestPool) => void pool.terminate()],
  ])('of a worker that %s meanwhile', async (_, end) => {
    const pool = await startPool({ tasks })
    const profiled = failure(pool.profile(workerOf(pool), 60_000))
    await new Promise((resolve) => setTimeout(resolve, 200))
    end(pool)
    const error = await within(profiled, 20_000)
    expect(error).toBeInstanceOf(PreforkError)
    expect(error).toMatchObject(refused(/^There is no profile of worker 1: it ended meanwhile\.$/))
  })

  it('of one that exits by itself: its code counts, and it prints nothing', async () => {
    const pool = await startPool({ tasks, output: 'capture' })
    const profiled = failure(pool.profile(workerOf(pool), 60_000))
    const error = (await failure(pool.run('exits', [new Journal().path]))) as WorkerLostError
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ reason: 'exit', exitCode: 7, stderr: '' })
    expect(await profiled).toMatchObject(refused(/it ended meanwhile/))
  })

  it('of one that is frozen', async () => {
    const pool = await startPool({ tasks, heartbeatInterval: 100, heartbeatTimeout: 1_000, maintainInterval: 200 })
    const profiled = failure(pool.profile(workerOf(pool), 60_000))
    await freeze(pidOf(pool))
    expect(await within(profiled, 20_000)).toMatchObject(refused(/it ended meanwhile/))
  })

  it('of one that stays in native code', async () => {
    const pool = await startPool({ tasks, cancelGrace: 200 })
    const job = await begun(pool, 'execs', 60_000)
    expect(await within(failure(pool.profile(1, 100)), 20_000)).toMatchObject(
      refused(/was in native code, or was stopped, and did not answer within 5\.1 s\.$/),
    )
    expect(job.state).toBe('accepted')
    job.cancel()
    await failure(job.result)
  })

  it('where Node measures coverage, which it would end', async () => {
    const folder = scratch()
    const pool = await startPool({ tasks, env: { ...process.env, NODE_V8_COVERAGE: folder } })
    for (const n of [1, 2]) await pool.run('value', [n])
    expect(await failure(pool.profile(1, 100))).toMatchObject(refused(/Node measures the coverage of its code \(NODE_V8_COVERAGE\)/))
    await pool.run('value', [3])
    await pool.close()
    const [file] = readdirSync(folder)
    interface Coverage {
      result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[]
    }
    const { result } = JSON.parse(readFileSync(join(folder, file!), 'utf8')) as Coverage
    const functions = result.find(({ url }) => url === tasks.href)?.functions
    expect(functions?.find(({ functionName }) => functionName === 'value')?.ranges[0]?.count).toBe(3)
  })

  it('of one that is being profiled', async () => {
    const pool = await startPool({ tasks })
    const [first, second] = await Promise.allSettled([pool.profile(1, 300), pool.profile(1, 300)])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ status: 'rejected', reason: refused(/it is being profiled already\.$/) })
    expect(isWhole(await pool.profile(1, 50))).toBe(true)
  })

  it('with watchdog: false', async () => {
    const pool = await startPool({ tasks, watchdog: false })
    expect(await failure(pool.profile(1, 100))).toMatchObject(refused(/it has no watchdog \(watchdog: false\)/))
  })

  const permission = process.allowedNodeEnvironmentFlags.has('--permission') && !process.version.startsWith('v22')
  it.runIf(permission)('under --permission without --allow-inspector', async () => {
    const pool = await startPool({ tasks, execArgv: ['--permission', '--allow-fs-read=*', '--allow-worker'] })
    expect(await failure(pool.profile(1, 100))).toMatchObject(refused(/--allow-inspector/))
    expect(await pool.run('value', [1])).toBe(1)
  })

  it('where the call is a mistake', async () => {
    const pool = await startPool({ tasks })
    expect(await failure(pool.profile(99, 100))).toMatchObject({ name: 'RangeError', message: 'There is no worker 99; there are: 1.' })
    for (const ms of [0, 0.5, 60_001, '100', null, Number.NaN])
      expect(await failure(pool.profile(1, ms as number))).toMatchObject({
        name: 'TypeError',
        message: expect.stringMatching(/^Option 'ms' must be a whole number from 1 to 60000; it was given/),
      })
    await pool.close()
    expect(await failure(pool.profile(1, 100))).toMatchObject({ name: 'RangeError' })
  })
})

describe('a profile is taken', () => {
  it('in a worker with --inspect, and with a profile of its own', async () => {
    const folder = scratch()
    const pool = await startPool({ tasks, execArgv: ['--inspect=127.0.0.1:0', '--cpu-prof', `--cpu-prof-dir=${folder}`] })
    expect(heaviest(await pool.profile(1, 200))).toBe('(idle)')
    await pool.close()
    expect(readdirSync(folder)).toHaveLength(1)
  })

  it('while the host, which has nothing else to do, stays alive', async () => {
    const { folder, remove } = makeProject()
    onTestFinished(remove)
    writeFileSync(
      join(folder, 'main.js'),
      `import { createPool } from 'prefork'
const pool = await createPool({ tasks: process.argv[2], workers: 1 })
console.log((await pool.profile(1, 300)).nodes.length > 0)
`,
    )
    const { exitCode, stdout } = await execa(process.execPath, ['main.js', tasks.href], { cwd: folder, reject: false, timeout: 20_000 })
    expect([exitCode, stdout]).toEqual([0, 'true'])
  })
})
