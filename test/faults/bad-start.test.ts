import { rmSync, writeFileSync } from 'node:fs'
import { PreforkError, WorkerStartError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { Host, hostScript, launchers } from '../fixtures/hosts.js'
import { fixture, startPool } from '../fixtures/pools.js'
import { failure, scratch, until } from '../fixtures/support.js'
import { neverLoaded, nothingLeft, refused, withStarts } from './bad-start.js'

describe('promise 8: createPool with a task module', () => {
  it('that is missing rejects soon, with its path and the error', async () => {
    // Only START_FAILED of the worker can reject before this timeout.
    const error = await refused({ tasks: fixture('no-such-module.js'), workers: 1, aliveTimeout: 600_000 })
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error).toBeInstanceOf(PreforkError)
    expect(error.code).toBe('ERR_PREFORK_WORKER_START')
    expect(error.message).toContain('no-such-module.js')
    expect(error.message).toMatch(/no-such-module\.js: there is no such file\.$/)
    expect(error.cause).toMatchObject({ code: 'ERR_MODULE_NOT_FOUND' })
    await nothingLeft()
  })

  it('that throws rejects with the error as cause and the number of starts', async () => {
    const { starts, options } = withStarts('throws.js', { workers: 2, aliveTimeout: 600_000 })
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

  it('that ends the process rejects with the exit code', async () => {
    const { starts, options } = withStarts('exits.js')
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.message).toMatch(/\b9\b/)
    expect(starts.lines.length).toBeLessThanOrEqual(4)
    await nothingLeft()
  })

  // The others: bad-start.long.test.ts.
  neverLoaded(['spins.js'])

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
})

describe('promise 8: workers with an option that Node.js does not have', () => {
  it('are told with the option', async () => {
    const error = await failure(startPool({ execArgv: ['--no-such-option'], output: 'ignore' }))
    expect(error).toMatchObject({ name: 'WorkerStartError', stderr: expect.stringContaining('--no-such-option') })
    expect((error as Error).message).toContain(`Node.js ${process.version} says of its options (execArgv, NODE_OPTIONS): bad option: --no-such-option.`)
  })
})

describe('promise 8: a host with too few descriptors for the workers', () => {
  it.each(launchers)('reports it at the start and leaves no process (launcher: %s)', async (_, env) => {
    const host = new Host('sh', ['-c', `ulimit -n 90; exec ${process.execPath} ${hostScript('few-descriptors.js')}`], env)
    const { message } = await host.reported<{ message: string }>('refused')
    expect(message).toMatch(/descriptor|ulimit|EMFILE/i)
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect(host.stderr).toBe('')
  })
})
