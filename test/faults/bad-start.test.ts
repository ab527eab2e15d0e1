import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPool, type PoolOptions, PreforkError, WorkerStartError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { Host, hostScript } from '../fixtures/hosts.js'
import { fixture, optionsOf, startPool, upPids } from '../fixtures/pools.js'
import { childrenOf, failure, Journal, scratch, until, within } from '../fixtures/support.js'

const refused = async (options: Partial<PoolOptions>): Promise<WorkerStartError> => {
  const creation = createPool(optionsOf(options))
  creation.then((pool) => pool.terminate()).catch(() => {})
  return (await failure(creation)) as WorkerStartError
}

const withStarts = (name: string, options: Partial<PoolOptions> = {}) => {
  const starts = new Journal()
  return { starts, options: { tasks: fixture(`starts/${name}`), env: { ...process.env, PREFORK_TEST_STARTS: starts.path }, ...options } }
}

const nothingLeft = (): Promise<unknown> => until('no process is left', () => childrenOf(process.pid).length === 0, 5_000)

describe('promise 8: createPool with a task module', () => {
  it('that is missing rejects soon, with its path and the error', async () => {
    // Only START_FAILED of the worker can reject before this timeout.
    const error = await refused({ tasks: fixture('no-such-module.js'), workers: 2, aliveTimeout: 600_000 })
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error).toBeInstanceOf(PreforkError)
    expect(error.code).toBe('ERR_PREFORK_WORKER_START')
    expect(error.message).toContain('no-such-module.js')
    expect(error.message).toContain((error.cause as Error).message)
    expect(error.cause).toMatchObject({ code: 'ERR_MODULE_NOT_FOUND' })
    await nothingLeft()
  })

  it('that has a syntax error rejects with its line', async () => {
    const module = join(scratch(), 'unparsed.mjs')
    writeFileSync(module, 'export const one = () => 1\nexport const two = () => 2 3\n')
    const error = await refused({ tasks: module, workers: 1 })
    expect(error.message).toContain(`${module}: Unexpected number (line 2)`)
    expect(error.cause).toBeInstanceOf(SyntaxError)
    await nothingLeft()
  })

  it('that throws rejects with the error as cause and the number of starts', async () => {
    const { starts, options } = withStarts('throws.js', { workers: 4, aliveTimeout: 600_000 })
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.message).toContain('throws.js')
    expect(error.message).toContain('this module cannot be loaded')
    expect(error.cause).toBeInstanceOf(RangeError)
    expect(error.cause).toMatchObject({ message: 'this module cannot be loaded' })
    await nothingLeft()
    const count = starts.lines.length
    expect(count).toBeGreaterThanOrEqual(1)
    expect(count).toBeLessThanOrEqual(6)
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(starts.lines).toHaveLength(count)
  })

  it('that throws a value without text, or writes junk into the results pipe, rejects; the host is unharmed', async () => {
    for (const name of ['throws-oddly.js', 'forges.js']) {
      const error = await refused(withStarts(name).options)
      expect(error).toBeInstanceOf(WorkerStartError)
      expect(error.message).toMatch(name === 'forges.js' ? /forges\.js/ : /throws-oddly\.js: .*no text/)
      await nothingLeft()
    }
  })

  it('that ends the process rejects with the exit code', async () => {
    const { starts, options } = withStarts('exits.js')
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.message).toMatch(/\b9\b/)
    expect(starts.lines.length).toBeLessThanOrEqual(4)
    await nothingLeft()
  })

  it.each(['spins.js', 'awaits.js', 'hook-hangs.js'])('that never finishes (%s): rejected after three starts, and nothing is left', async (name) => {
    const { starts, options } = withStarts(name, { aliveTimeout: 250 })
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.message).toContain(name)
    expect(error.message).toContain('3 starts failed')
    expect(error.cause).toMatchObject({ code: 'ERR_PREFORK_START_TIMEOUT' })
    // On a busy machine the start timeout may pass before the module writes its first line.
    expect(starts.lines.length).toBeGreaterThanOrEqual(1)
    expect(starts.lines.length).toBeLessThanOrEqual(3)
    await nothingLeft()
  })

  it('whose start hook throws rejects with that error', async () => {
    const { starts, options } = withStarts('hook-throws.js')
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.cause).toMatchObject({ message: 'the start hook failed' })
    expect(starts.lines.length).toBeLessThanOrEqual(4)
  })

  it("that exports the name of another module's task rejects and gives the name", async () => {
    const error = await refused({ tasks: [fixture('tasks.js'), fixture('duplicate-name.js')] })
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toMatch(/\becho\b/)
    expect(error.message).toContain('duplicate-name.js')
    await nothingLeft()
  })

  it('that creates a pool while it loads in a worker rejects by name and starts no further pools', async () => {
    const { starts, options } = withStarts('fork-storm.js', { workers: 2 })
    const error = await refused(options)
    expect(error).toBeInstanceOf(PreforkError)
    expect(error.message).toContain('fork-storm.js')
    expect(starts.lines.length).toBeLessThanOrEqual(6)
    await nothingLeft()
  })

  it('that loads slowly within aliveTimeout resolves; a start beyond it is repeated with twice the time', async () => {
    const slow = withStarts('slow.js', { aliveTimeout: 10_000 })
    const patient = await startPool({ ...slow.options, env: { ...slow.options.env, PREFORK_TEST_LOAD_MS: '600' } })
    expect(upPids(patient)).toEqual(slow.starts.lines.map(Number))
    const second = withStarts('slow.js', { aliveTimeout: 1_500 })
    const pool = await startPool({ ...second.options, env: { ...second.options.env, PREFORK_TEST_LOAD_MS: '1800' } })
    // The first start had 900 ms, the second 1,800; a slow machine needs a third.
    expect(second.starts.lines.length).toBeGreaterThanOrEqual(2)
    expect(second.starts.lines.length).toBeLessThanOrEqual(3)
    expect(await pool.run('pid', [])).toBe(Number(second.starts.lines.at(-1)))
  })

  it('that throws after the first start rejects the waiting jobs and bounds the number of starts', async () => {
    const broken = `${scratch()}/broken`
    const { starts, options } = withStarts('sometimes.js')
    const pool = await startPool({ ...options, env: { ...options.env, PREFORK_TEST_BROKEN: broken } })
    const pid = (await pool.run('pid', [])) as number
    writeFileSync(broken, '')
    process.kill(pid, 'SIGKILL')
    const error = await failure(pool.run('pid', []))
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error).toMatchObject({ cause: { message: 'broken since the last start' } })
    expect(starts.lines.length).toBeLessThanOrEqual(6)
    rmSync(broken)
    expect(
      await until('the pool has recovered', () =>
        pool.run('pid', []).then(
          () => true,
          () => false,
        ),
      ),
    ).toBe(true)
  })

  it('that loads again after a failed restart keeps the waiting jobs at a later crash and gives the next restart all its tries', async () => {
    const broken = `${scratch()}/broken`
    const { starts, options } = withStarts('sometimes.js')
    const pool = await startPool({ ...options, env: { ...options.env, PREFORK_TEST_BROKEN: broken } })
    expect(await pool.run('pid', [])).toBeGreaterThan(0)
    const giveUp = async (): Promise<number> => {
      const before = starts.lines.length
      writeFileSync(broken, '')
      expect(await failure(pool.restart())).toMatchObject({ name: 'WorkerStartError', message: expect.stringContaining('3 starts failed') })
      rmSync(broken)
      return starts.lines.length - before
    }
    expect(await giveUp()).toBe(3)
    expect(await giveUp()).toBe(3)
    const [pid] = upPids(pool)
    process.kill(pid!, 'SIGKILL')
    const answers = await Promise.all(Array.from({ length: 3 }, () => pool.run('pid', [])))
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).not.toBe(pid)
  })
})

it('promise 8: jobs that wait name a removed working directory, and run once it exists again', async () => {
  const cwd = join(scratch(), 'work')
  mkdirSync(cwd)
  const pool = await startPool({ cwd })
  rmSync(cwd, { recursive: true })
  process.kill(upPids(pool)[0]!, 'SIGKILL')
  const error = (await failure(pool.run('pid', []))) as WorkerStartError
  expect(error).toBeInstanceOf(WorkerStartError)
  const said = `No worker process could be started: its working directory is gone (${cwd}, the option 'cwd'). Make it again.`
  expect(error.message).toContain(said.slice(0, -1))
  expect(error.cause).toMatchObject({ message: said, cause: { code: 'ENOENT' } })
  mkdirSync(cwd)
  expect(
    await until('the pool has recovered', () =>
      pool.run('cwd', []).then(
        (where) => where === realpathSync(cwd),
        () => false,
      ),
    ),
  ).toBe(true)
})

describe('promise 8: a host with too few descriptors for the workers', () => {
  it('reports it at the start and leaves no process', async () => {
    const host = new Host('sh', ['-c', `ulimit -n 90; exec ${process.execPath} ${hostScript('few-descriptors.js')}`])
    const { message } = await host.reported<{ message: string }>('refused')
    expect(message).toMatch(/descriptor|ulimit|EMFILE/i)
    expect(await host.ends()).toEqual({ code: 0, signal: null })
  })
})

it('promise 8: a failed createPool does not prevent the next one', async () => {
  await refused({ tasks: fixture('no-such-module.js') })
  const pool = await startPool()
  expect(await within(pool.run('echo', ['fine']), 10_000)).toBe('fine')
})
