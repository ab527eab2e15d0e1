import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { execaSync } from 'execa'
import { describe, expect, test, vi } from 'vitest'
import { readOptions, type Settings } from '../../src/pool/options.js'
import type { PoolOptions } from '../../src/pool/types.js'
import { availableCpus } from '../../src/util/available-cpus.js'
import { MAX_TIMER } from '../../src/util/limits.js'
import * as time from '../../src/util/node-time.js'
import { read, refusal, refused, TASKS } from './option-help.js'

const cpus = availableCpus()

const DEFAULTS = {
  tasks: [TASKS.href],
  minWorkers: cpus,
  maxWorkers: cpus,
  concurrency: 1,
  dispatch: 'adaptive',
  maxQueue: Number.POSITIVE_INFINITY,
  softTimeLimit: 0,
  timeLimit: 0,
  maxJobsPerWorker: Number.POSITIVE_INFINITY,
  maxAgePerWorker: Number.POSITIVE_INFINITY,
  maxMemoryPerWorker: Number.POSITIVE_INFINITY,
  hardMemoryLimit: Number.POSITIVE_INFINITY,
  aliveTimeout: 4_000,
  cancelGrace: 1_000,
  drainTimeout: 60_000,
  lostWorkerTimeout: 10_000,
  maintainInterval: 5_000,
  heartbeatInterval: 1_000,
  heartbeatTimeout: 7_000,
  keepAlive: 30_000,
  maxPutBacks: 5,
  maxMessageSize: 256 * 1024 * 1024,
  spare: 0,
  watchdog: true,
  niceness: 5,
  killTree: true,
  launcher: 'host',
  output: 'inherit',
  sharedMemory: undefined,
  cwd: undefined,
  logger: undefined,
} satisfies Partial<Settings>

const TIMES = [
  'softTimeLimit',
  'timeLimit',
  'maxAgePerWorker',
  'aliveTimeout',
  'cancelGrace',
  'lostWorkerTimeout',
  'maintainInterval',
  'heartbeatTimeout',
  'keepAlive',
] as const
const SIZES = ['maxMemoryPerWorker', 'hardMemoryLimit', 'maxMessageSize'] as const
const COUNTS = [
  ['concurrency', 1],
  ['maxQueue', 1],
  ['maxJobsPerWorker', 1],
  ['maxPutBacks', 0],
  ['spare', 0],
  ['niceness', 0],
] as const
const FLAGS = ['watchdog', 'killTree'] as const

test('the defaults', () => {
  expect(read()).toMatchObject(DEFAULTS)
  expect(Object.keys(read()).sort()).toEqual([...Object.keys(DEFAULTS), 'env', 'execArgv', 'relativeTasks'].sort())
})

test('an option given as undefined counts as absent', () => {
  const names = [...TIMES, ...SIZES, ...COUNTS.map(([name]) => name), ...FLAGS, 'workers', 'dispatch', 'output', 'env', 'execArgv', 'cwd', 'logger'] as const
  expect(read(Object.fromEntries([...names, 'heartbeatInterval'].map((name) => [name, undefined])))).toEqual(read())
  expect(read({ workers: { min: undefined, max: undefined } })).toMatchObject({ minWorkers: 1, maxWorkers: cpus })
})

describe('times', () => {
  test.each(TIMES)('%s takes milliseconds, parts of one rounded up', (name) => {
    expect(read({ [name]: 12_345.2 })[name]).toBe(12_346)
    expect(read({ [name]: MAX_TIMER })[name]).toBe(MAX_TIMER)
  })

  test.each([...TIMES, 'heartbeatInterval'])('%s refuses what is none, and names itself and the unit', (name) => {
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, MAX_TIMER + 1, '5s', null, true, 5n, []]) {
      expect(refused({ [name]: value })).toMatch(new RegExp(`^Option '${name}' must be a number of milliseconds above 0 .*; it was given `))
    }
  })
})

test('drainTimeout takes milliseconds, or Infinity', () => {
  expect([read({ drainTimeout: 12_345.2 }).drainTimeout, read({ drainTimeout: Number.POSITIVE_INFINITY }).drainTimeout]).toEqual([
    12_346,
    Number.POSITIVE_INFINITY,
  ])
  for (const value of [0, -1, Number.NaN, Number.NEGATIVE_INFINITY, MAX_TIMER + 1, '5s', null]) {
    expect(refused({ drainTimeout: value })).toMatch(
      /^Option 'drainTimeout' must be a number of milliseconds above 0 and at most \d+, or Infinity; it was given /,
    )
  }
  expect(read({ drainTimeout: undefined }).drainTimeout).toBe(60_000)
})

describe('sizes', () => {
  test.each(SIZES)('%s takes bytes', (name) => {
    expect(read({ [name]: 100_000_000.5 })[name]).toBe(100_000_001)
  })

  test.each(SIZES)('%s refuses what is none, and names itself and the unit', (name) => {
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '64MB', null, 5n]) {
      expect(refused({ [name]: value })).toMatch(new RegExp(`^Option '${name}' must be a number of bytes above 0; it was given `))
    }
  })

  test('maxMessageSize is limited by the length field of a frame', () => {
    expect(read({ maxMessageSize: 2 ** 40 }).maxMessageSize).toBe(0xffff_0000)
  })
})

describe('counts', () => {
  test.each(COUNTS)('%s takes whole numbers from %d', (name, least) => {
    expect(read({ [name]: least })[name]).toBe(least)
    expect(read({ [name]: 7 })[name]).toBe(7)
    for (const value of [least - 1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '4', null]) {
      expect(refused({ [name]: value })).toMatch(new RegExp(`^Option '${name}' must be a whole number (of at least|from) ${least}.*; it was given `))
    }
  })

  test.each([
    ['concurrency', 10_001],
    ['spare', 10_001],
    ['niceness', 20],
  ])('%s has an upper bound too', (name, value) => {
    expect(refused({ [name]: value })).toContain(` to ${value - 1}; it was given ${value}`)
  })
})

test('launcher is one of two words', () => {
  expect(refused({ launcher: 'thread' })).toContain("must be 'host' or 'process'")
})

test.each(FLAGS)('%s is true or false', (name) => {
  expect([read({ [name]: false })[name], read({ [name]: true })[name]]).toEqual([false, true])
  for (const value of [0, 'false', null]) expect(refused({ [name]: value })).toMatch(`Option '${name}' must be true or false; it was given`)
})

describe('workers', () => {
  test.each<[PoolOptions['workers'], number, number]>([
    [3, 3, 3],
    [{ min: 2, max: 5 }, 2, 5],
    [{ min: 0, max: 1 }, 0, 1],
    [{ max: 9 }, 1, 9],
    [{ min: cpus + 3 }, cpus + 3, cpus + 3],
    [{}, 1, cpus],
  ])('%o', (workers, min, max) => {
    expect(read({ workers })).toMatchObject({ minWorkers: min, maxWorkers: max })
  })

  test.each([
    [0, "Option 'workers' must be a whole number from 1 to 10000, or { min, max }; it was given 0."],
    [1.5, "Option 'workers' must be"],
    ['2', "Option 'workers' must be a whole number from 1 to 10000, or { min, max }; it was given '2'."],
    [null, "Option 'workers' must be"],
    [[2], "Option 'workers' must be"],
    [{ min: -1 }, "Option 'workers.min' must be"],
    [{ max: 0 }, "Option 'workers.max' must be"],
    [{ min: 5, max: 4 }, "Option 'workers.max' must be at least workers.min, 5; it was given 4."],
    [{ mni: 1 }, "Unknown option 'mni' of workers; did you mean 'min'?"],
  ])('%o is refused', (workers, message) => {
    expect(refused({ workers })).toContain(message)
  })
})

describe('dispatch and output', () => {
  test.each(['adaptive', 'fair', 'fast', 1, 64])('dispatch %o', (dispatch) => {
    expect(read({ dispatch: dispatch as PoolOptions['dispatch'] }).dispatch).toBe(dispatch)
  })

  test.each([0, 1.5, 100_001, 'quick', null])('dispatch %o is refused', (dispatch) => {
    expect(refused({ dispatch })).toMatch(/^Option 'dispatch' must be 'adaptive', 'fair', 'fast' or a window, a whole number from 1 to 100000; it was given /)
  })

  test.each(['inherit', 'ignore', 'capture'] as const)('output %s', (output) => {
    expect(read({ output }).output).toBe(output)
  })

  test('another output is refused with the possible values', () => {
    expect(refused({ output: 'pipe' })).toBe("Option 'output' must be 'inherit' or 'ignore' or 'capture'; it was given 'pipe'.")
  })
})

describe('tasks', () => {
  test('URLs, file: strings and paths become file: URLs, each once', () => {
    const url = new URL('file:///srv/b.js')
    expect(read({ tasks: [TASKS, TASKS.href, '/srv/tasks.js', url] }).tasks).toEqual([TASKS.href, url.href])
    expect(read({ tasks: 'lib/tasks.js' }).tasks).toEqual([pathToFileURL(resolve('lib/tasks.js')).href])
    expect(read({ tasks: '/srv/a b#c.js' }).tasks).toEqual(['file:///srv/a%20b%23c.js'])
  })

  test.each([[''], [5], [null], [new URL('https://example.org/tasks.js')]])('%o is refused', (tasks) => {
    expect(refused({ tasks })).toMatch(/^Option 'tasks' must be a/)
  })

  test('the refusal names the element of an array, or that it is empty', () => {
    expect(refused({ tasks: [TASKS, ''] })).toMatch(/^Option 'tasks\[1\]' must be a module: .* or a path; it was given ''\.$/)
    for (const url of ['https://example.org/t.js', 'HTTP://example.org/t.js', 'data:text/javascript,0', 'node:fs'])
      expect(refused({ tasks: url })).toBe(`Option 'tasks' must be a file: URL or a path; it was given '${url}'.`)
    expect(read({ tasks: ['FILE:///t.js', 'C:/t.js', './a:b.js'] }).tasks).toHaveLength(3)
    expect(refused({ tasks: [new URL('https://example.org/t.js')] })).toBe("Option 'tasks[0]' must be a file: URL; it was given 'https://example.org/t.js'.")
    expect(refused({ tasks: [] })).toMatch(/^Option 'tasks' must be .*, or a non-empty array of them; it was given an empty array\.$/)
  })

  test('they are required', () => {
    expect(refusal(() => readOptions({}))).toMatch(/^Option 'tasks' is missing: it must be a module: new URL/)
  })
})

test('cwd is a path or a file: URL', () => {
  expect(read({ cwd: 'lib' }).cwd).toBe(join(process.cwd(), 'lib'))
  expect(read({ cwd: new URL('file:///srv/a%20b') }).cwd).toBe('/srv/a b')
  expect(read({ cwd: 'file:///srv' }).cwd).toBe('/srv')
  for (const cwd of ['', 5, null, new URL('http://x/')]) expect(refused({ cwd })).toMatch(/^Option 'cwd' must be a path or a file: URL; it was given /)
})

test('env holds strings', () => {
  expect(read({ env: { A: '1', B: undefined } }).env).toEqual({ A: '1', B: undefined })
  expect(refused({ env: { PORT: 80 } })).toBe("Option 'env.PORT' must be a string; it was given 80.")
  expect(refused({ env: 'A=1' })).toMatch(/^Option 'env' must be an object/)
})

test('execArgv is an array of strings, which is not changed', () => {
  expect(read({ execArgv: ['--inspect=0'] }).execArgv).toEqual(['--inspect=0'])
  expect(refused({ execArgv: '--inspect' })).toBe("Option 'execArgv' must be an array of strings; it was given '--inspect'.")
  expect(refused({ execArgv: ['--no-warnings', 5] })).toBe("Option 'execArgv[1]' must be a string; it was given 5.")
})

test.each([
  [[]],
  [['--import', './x.js']],
  [['-r', 'tsx', '--require=./y.cjs', '-C', 'development']],
  [['--no-warnings', '--max-old-space-size=77', '--stack-trace-limit', '33']],
  [['--import', 'tsx', '-i', '--inspect-brk', '--']],
  // A value that is empty, and options whose names only begin like those that are refused.
  [['--title', '']],
  [['--test-only', '--version-of-something', '--experimental-print-required-tla']],
])('execArgv %j is left to Node', (execArgv) => {
  expect(read({ execArgv }).execArgv).toEqual(execArgv)
})

test.each([
  [['./register.js'], 0],
  [['', '--no-warnings'], 0],
  [['--import', './x.js', './y.js'], 2],
  [['--stack-trace-limit=33', '50'], 1],
  [['--no-warnings', '--', '--expose-gc'], 2],
])('execArgv %j: Node would run a word of it as the script', (execArgv, index) => {
  expect(refused({ execArgv })).toBe(
    `Option 'execArgv[${index}]' must be an option of Node's, or the value of the one before it; it was given '${execArgv[index]}', which Node would run in place of the worker. Name modules with '--import' or '--require'.`,
  )
})

const SCRIPT = join(import.meta.dirname, '../fixtures/prints-marker.js')
/** What the script writes to its extra descriptor, as a worker does. */
const says = (options: readonly string[]) =>
  execaSync(process.execPath, [...options, SCRIPT], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'], reject: false }).stdio[3]
const INSTEAD = '- -c -e -h -p -pe -v --check --completion-bash --eval --eval=1 --help --print --print=1 --prof-process --test --v8-options --version'.split(
  ' ',
)
const withoutWorker = (word: string) => `Option 'execArgv[1]' is '${word}', with which no worker can start: leave it out.`

test.each(INSTEAD)('execArgv with %s is refused: Node does not run the script with it, or not with the descriptors given', (word) => {
  expect(refused({ execArgv: ['--no-warnings', word] })).toBe(withoutWorker(word))
  expect(says(['--no-warnings', word])).toBe('')
})

test('execArgv with --watch is refused: its run would never end', () => {
  expect(refused({ execArgv: ['--no-warnings', '--watch'] })).toBe(withoutWorker('--watch'))
})

test('execArgv with options with which Node still runs the script is accepted', () => {
  const execArgv = ['-i', '--']
  expect(read({ execArgv }).execArgv).toEqual(execArgv)
  expect(says(execArgv)).toBe('it ran')
})

test('a logger has the five methods of pino', () => {
  const say = () => {}
  const logger = { trace: say, debug: say, info: say, warn: say, error: say }
  expect(read({ logger: logger as unknown as PoolOptions['logger'] }).logger).toBeDefined()
  for (const given of [{ ...logger, warn: undefined }, null, say]) expect(refused({ logger: given })).toMatch(/^Option 'logger' must be a pino logger/)
})

test('an error of a logger is thrown in the next tick, not to the caller', () => {
  const ticks: (() => void)[] = []
  const nextTick = vi.spyOn(time, 'nextTick').mockImplementation((fn) => void ticks.push(fn as () => void))
  const logged: unknown[] = []
  const logger = {
    trace: () => {},
    debug: () => {},
    info(details: object, message: string) {
      logged.push(this === logger, details, message)
    },
    warn: () => {},
    error: () => {
      throw new RangeError('full')
    },
  }
  const guarded = read({ logger }).logger!
  guarded.info({ a: 1 }, 'up')
  guarded.error({}, 'down')
  nextTick.mockRestore()
  expect(logged).toEqual([true, { a: 1 }, 'up'])
  expect(ticks).toHaveLength(1)
  expect(ticks[0]).toThrow(new RangeError('full'))
})

describe('options that belong together', () => {
  test('a timeLimit below the softTimeLimit is refused, an equal one is not', () => {
    expect(read({ softTimeLimit: 100, timeLimit: 100 })).toMatchObject({ softTimeLimit: 100, timeLimit: 100 })
    expect(refused({ softTimeLimit: 200, timeLimit: 100 })).toMatch(/^Option 'timeLimit' must be at least the softTimeLimit of 200 ms .*it was given 100\.$/)
  })

  test('hardMemoryLimit is 1.5 x maxMemoryPerWorker, and never below it', () => {
    expect(read({ maxMemoryPerWorker: 1e8 }).hardMemoryLimit).toBe(1.5e8)
    expect(read({ maxMemoryPerWorker: 1e8, hardMemoryLimit: 1e8 }).hardMemoryLimit).toBe(1e8)
    expect(read({ hardMemoryLimit: 5e7 })).toMatchObject({ hardMemoryLimit: 5e7, maxMemoryPerWorker: Number.POSITIVE_INFINITY })
    expect(refused({ maxMemoryPerWorker: 1e8, hardMemoryLimit: 99e6 })).toMatch(
      /^Option 'hardMemoryLimit' must be at least maxMemoryPerWorker, 100000000 bytes/,
    )
  })

  test('heartbeatTimeout leaves room for heartbeats', () => {
    expect(read({ heartbeatInterval: 2_000 }).heartbeatTimeout).toBe(7_000)
    expect(read({ heartbeatInterval: 5_000 }).heartbeatTimeout).toBe(15_000)
    expect(read({ heartbeatInterval: 50, heartbeatTimeout: 100 })).toMatchObject({ heartbeatInterval: 50, heartbeatTimeout: 100 })
    expect(refused({ heartbeatTimeout: 1_999 })).toMatch(/^Option 'heartbeatTimeout' must be at least twice the heartbeatInterval of 1000 ms/)
  })
})

describe('names', () => {
  test.each([
    ['timelimit', 'timeLimit'],
    ['maxQeue', 'maxQueue'],
    ['worker', 'workers'],
    ['task', 'tasks'],
    ['keepalive', 'keepAlive'],
  ])('%s is unknown; %s is proposed', (wrong, right) => {
    expect(refused({ [wrong]: 5 })).toContain(`Unknown option '${wrong}' of createPool; did you mean '${right}'? It has: tasks, workers, `)
  })

  test('a name that resembles none is refused without a proposal', () => {
    expect(refused({ somethingElseEntirely: 5 })).toMatch(/^Unknown option 'somethingElseEntirely' of createPool\. It has: tasks, /)
  })

  test.each([undefined, null, 'tasks.js', [], TASKS.href, 5])('%o is no options object', (given) => {
    expect(refusal(() => readOptions(given))).toContain('createPool wants an options object')
  })
})

test('sharedMemory is a whole number of bytes, or 0', () => {
  expect([read({ sharedMemory: 0 }).sharedMemory, read({ sharedMemory: 1_000_000 }).sharedMemory]).toEqual([0, 1_000_000])
  for (const sharedMemory of [-5, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '64MB'])
    expect(() => read({ sharedMemory } as object)).toThrow(/Option 'sharedMemory' must be a whole number of bytes, or 0 for none/)
})
