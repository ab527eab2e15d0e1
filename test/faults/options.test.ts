import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPool } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, fixture, pidOf, startPool, upPids } from '../fixtures/pools.js'
import { failure, isAlive, scratch } from '../fixtures/support.js'

describe('tasks', () => {
  it.each([
    ['a URL', fixture('second.js')],
    ['a file: URL as text', fixture('second.js').href],
    ['an absolute path', fileURLToPath(fixture('second.js'))],
    ['a path relative to the working directory', `./${relative(process.cwd(), fileURLToPath(fixture('second.js')))}`],
    ['an array', [fixture('second.js')]],
  ])('may be %s', async (_, tasks) => {
    const pool = await startPool({ tasks })
    expect(await pool.run('second', [])).toBe('second')
  })

  it('may be several modules, ESM and CommonJS', async () => {
    const pool = await startPool({ tasks: [fixture('second.js'), fixture('common.cjs'), fixture('tasks.js')] })
    expect(await pool.run('second', [])).toBe('second')
    expect(await pool.run('fromCommonJs', [1])).toEqual(['cjs', 1, upPids(pool)[0]])
    expect(await pool.run('echo', [2])).toBe(2)
  })

  it('may have spaces and special characters in the path', async () => {
    const directory = mkdtempSync(join(scratch(), 'a b%20#ü-'))
    writeFileSync(join(directory, 'tasks.mjs'), 'export const odd = () => 42\n')
    const pool = await startPool({ tasks: join(directory, 'tasks.mjs') })
    expect(await pool.run('odd', [])).toBe(42)
  })

  it('do not include exports that are no functions', async () => {
    const pool = await startPool()
    expect(await failure(pool.run('notAFunction', []))).toMatchObject({ name: 'TaskNotFoundError' })
  })
})

describe('workers', () => {
  it('default to the available parallelism of the machine', async () => {
    const pool = await startPool({ workers: undefined })
    expect(await allUp(pool, availableParallelism())).toHaveLength(availableParallelism())
  })
})

describe('env', () => {
  it('is process.env by default, plus what the pool adds', async () => {
    process.env.PREFORK_TEST_SEEN = 'from the host'
    try {
      const pool = await startPool()
      expect(await pool.run('env', ['PREFORK_TEST_SEEN'])).toBe('from the host')
      expect(await pool.run('env', ['PREFORK_WORKER_ID'])).toBe(String(pool.stats().workers[0]!.id))
    } finally {
      delete process.env.PREFORK_TEST_SEEN
    }
  })

  it('is exactly what the worker sees when it is given', async () => {
    process.env.PREFORK_TEST_HIDDEN = 'secret'
    try {
      const pool = await startPool({ env: { ONLY: 'this', PATH: process.env.PATH } })
      const seen = (await pool.run('allEnv', [])) as Record<string, string>
      expect(seen).toMatchObject({ ONLY: 'this' })
      expect(
        Object.keys(seen)
          .filter((name) => !name.startsWith('PREFORK_'))
          .sort(),
      ).toEqual(['ONLY', 'PATH'])
      expect(seen).not.toHaveProperty('PREFORK_TEST_HIDDEN')
    } finally {
      delete process.env.PREFORK_TEST_HIDDEN
    }
  })
})

describe('execArgv and cwd', () => {
  it('are passed to the workers', async () => {
    const directory = realpathSync(tmpdir())
    const pool = await startPool({ execArgv: ['--max-old-space-size=77'], cwd: directory })
    expect(await pool.run('execArgv', [])).toEqual(['--max-old-space-size=77'])
    expect(await pool.run('cwd', [])).toBe(directory)
    const byUrl = await startPool({ cwd: new URL(`file://${directory}/`) })
    expect(await byUrl.run('cwd', [])).toBe(directory)
  })

  it("default to the host's, without flags that only suit the host", async () => {
    const saved = process.execArgv
    process.execArgv = ['--no-warnings', '--inspect=0', '--watch', '--eval', '1', '--test', '--stack-trace-limit=33']
    try {
      const pool = await startPool()
      const seen = (await pool.run('execArgv', [])) as string[]
      expect(seen).toEqual(['--no-warnings', '--stack-trace-limit=33'])
      expect(await pool.run('cwd', [])).toBe(process.cwd())
    } finally {
      process.execArgv = saved
    }
  })
})

describe('title', () => {
  it('names the worker in its process title', async () => {
    const pool = await startPool()
    expect(await pool.run('title', [])).toMatch(/prefork/)
  })
})

describe('logger', () => {
  it('receives starts and deaths, and no arguments above level debug', async () => {
    const calls: { level: string; text: string }[] = []
    const at =
      (level: string) =>
      (...args: unknown[]): void => {
        calls.push({ level, text: args.map((arg) => (typeof arg === 'string' ? arg : JSON.stringify(arg))).join(' ') })
      }
    const logger = { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
    const pool = await startPool({ logger: logger as never })
    await pool.run('echo', ['a very secret argument'])
    await failure(pool.run('exitWith', [7], { context: 'another secret' }))
    await pidOf(pool)
    await pool.close()
    expect(calls.length).toBeGreaterThan(0)
    const loud = calls.filter(({ level }) => ['info', 'warn', 'error'].includes(level))
    expect(loud.some(({ level }) => level === 'warn' || level === 'error')).toBe(true)
    expect(loud.filter(({ text }) => text.includes('secret'))).toEqual([])
  })

  it('receives durations in whole milliseconds', async () => {
    const logged: Record<string, number> = {}
    const log = (details: { ms?: number }, text: string): void => {
      if (details.ms !== undefined) logged[text] = details.ms
    }
    const pool = await startPool({ logger: { trace: log, debug: log, info: log, warn: log, error: log } })
    await pool.run('echo', [1])
    expect(Object.keys(logged).sort()).toEqual(['job succeeded', 'worker up'])
    expect(Object.values(logged).every(Number.isInteger)).toBe(true)
  })
})

describe('undefined', () => {
  it('counts as absent, for every option', async () => {
    const names = [
      'concurrency',
      'dispatch',
      'maxQueue',
      'softTimeLimit',
      'timeLimit',
      'maxJobsPerWorker',
      'maxAgePerWorker',
      'maxMemoryPerWorker',
      'hardMemoryLimit',
      'aliveTimeout',
      'cancelGrace',
      'lostWorkerTimeout',
      'drainTimeout',
      'maintainInterval',
      'heartbeatInterval',
      'heartbeatTimeout',
      'keepAlive',
      'maxPutBacks',
      'maxMessageSize',
      'spare',
      'watchdog',
      'killTree',
      'output',
      'env',
      'execArgv',
      'cwd',
      'logger',
    ]
    const pool = await createPool({ tasks: fixture('second.js'), workers: 1, ...Object.fromEntries(names.map((name) => [name, undefined])) })
    try {
      const run = ['timeLimit', 'softTimeLimit', 'signal', 'priority', 'retryLost', 'transfer', 'context', 'delivery', 'id']
      expect(await pool.run('second' as never, [] as never, Object.fromEntries(run.map((name) => [name, undefined])))).toBe('second')
      expect(upPids(pool as never).every(isAlive)).toBe(true)
    } finally {
      await pool.close()
    }
  })
})
