import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPool } from 'prefork'
import { describe, expect, it } from 'vitest'
import { availableCpus } from '../../src/util/available-cpus.js'
import { Host, hostScript } from '../fixtures/hosts.js'
import { allUp, fixture, pidOf, startPool, upPids } from '../fixtures/pools.js'
import { failure, isAlive, scratch, until } from '../fixtures/support.js'

describe('tasks', () => {
  it('may be a path relative to the working directory', async () => {
    const pool = await startPool({ tasks: `./${relative(process.cwd(), fileURLToPath(fixture('second.js')))}` })
    expect(await pool.run('second', [])).toBe('second')
  })

  it('may be several modules, ESM and CommonJS: as a file: URL as text, as an absolute path, as a URL', async () => {
    const pool = await startPool({ tasks: [fixture('second.js').href, fileURLToPath(fixture('common.cjs')), fixture('tasks.js')] })
    expect(await pool.run('second', [])).toBe('second')
    expect(await pool.run('fromCommonJs', [1])).toEqual(['cjs', 1, upPids(pool)[0]])
    expect(await pool.run('echo', [2])).toBe(2)
    expect(await failure(pool.run('notAFunction', []))).toMatchObject({ name: 'TaskNotFoundError' })
  })

  it('may have spaces and special characters in the path', async () => {
    const directory = mkdtempSync(join(scratch(), 'a b%20#ü-'))
    writeFileSync(join(directory, 'tasks.mjs'), 'export const odd = () => 42\n')
    const pool = await startPool({ tasks: join(directory, 'tasks.mjs') })
    expect(await pool.run('odd', [])).toBe(42)
  })
})

describe('workers', () => {
  it('default to the CPUs that the host may use', async () => {
    const pool = await startPool({ workers: undefined })
    expect(await allUp(pool, availableCpus())).toHaveLength(availableCpus())
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
      expect(await pool.run('title', [])).toMatch(/prefork/)
    } finally {
      process.execArgv = saved
    }
  })
})

describe('niceness', () => {
  const own = getPriority()

  it('is that of every worker, the replacement of one that died included', async () => {
    const niceness = Math.max(own, 0) + 1
    const pool = await startPool({ niceness })
    const first = await pidOf(pool)
    await failure(pool.run('exitWith', [7]))
    const second = await pidOf(pool)
    expect(second).not.toBe(first)
    expect(getPriority(second)).toBe(niceness)
  })

  it('is 5 by default, and 0 leaves the workers at that of the host', async () => {
    expect(getPriority(await pidOf(await startPool({ niceness: undefined })))).toBe(Math.max(own, 5))
    expect(getPriority(await pidOf(await startPool({ niceness: 0 })))).toBe(own)
  })

  it.skipIf(!existsSync('/proc/self/autogroup'))('is that of the session of a worker as well', async () => {
    const niceness = Math.max(own, 0) + 2
    const pid = await pidOf(await startPool({ niceness }))
    // Without a privilege the kernel takes one such value in 100 ms.
    await until('the session has it', () => readFileSync(`/proc/${pid}/autogroup`, 'utf8').endsWith(` nice ${niceness}\n`))
  })

  it('is that of a host with a higher nice value, also for a root that could lower it', async () => {
    const host = new Host('nice', ['-n', '3', process.execPath, hostScript('pool-of.js'), JSON.stringify({ workers: 1, niceness: 1 })])
    expect(await host.reported('niceness')).toEqual([own + 3])
    expect(await host.ends()).toEqual({ code: 0, signal: null })
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
      'niceness',
      'killTree',
      'launcher',
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
