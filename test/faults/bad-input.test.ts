import { createPool, type Pool, type PoolOptions, TaskNotFoundError } from 'prefork'
import { afterEach, describe, expect, it } from 'vitest'
import { optionsOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'
import { nothingLeft } from './bad-start.js'

const refused = async (options: object): Promise<Error> => {
  const creation = createPool(options as PoolOptions)
  creation.then((pool) => pool.terminate()).catch(() => {})
  return (await failure(creation)) as Error
}

describe('promise 8: createPool', () => {
  // An earlier file of this process may have left one that is dead and not reaped yet.
  afterEach(nothingLeft)

  it.each([
    ['timelimit', 'timeLimit'],
    ['worker', 'workers'],
    ['maxJobsPerWorkers', 'maxJobsPerWorker'],
    ['concurency', 'concurrency'],
    ['ouput', 'output'],
  ])('names the misspelt option %s and the nearest right one', async (wrong, right) => {
    const error = await refused({ ...optionsOf(), [wrong]: 1 })
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain(wrong)
    expect(error.message).toMatch(new RegExp(`\\b${right}\\b`))
  })

  it('names a misspelt property of workers', async () => {
    expect((await refused({ ...optionsOf(), workers: { mni: 1 } })).message).toMatch(/mni.*min/s)
  })

  it.each([
    'timeLimit',
    'softTimeLimit',
    'aliveTimeout',
    'cancelGrace',
    'drainTimeout',
    'lostWorkerTimeout',
    'maintainInterval',
    'heartbeatInterval',
    'heartbeatTimeout',
    'keepAlive',
    'maxAgePerWorker',
  ])('refuses a time that is none: %s', async (name) => {
    for (const value of [0, -1, Number.NaN, '100', null]) {
      const error = await refused({ ...optionsOf(), [name]: value })
      expect(error.message).toContain(name)
      expect(error.message).toMatch(/\bms\b|millisecond/)
    }
  })

  it.each(['maxMemoryPerWorker', 'hardMemoryLimit', 'maxMessageSize'])('refuses a size that is none: %s', async (name) => {
    for (const value of [0, -1, Number.NaN, '1 GB']) {
      const error = await refused({ ...optionsOf(), [name]: value })
      expect(error.message).toContain(name)
      expect(error.message).toMatch(/\bbytes?\b/)
    }
  })

  it.each(['workers', 'concurrency', 'maxQueue', 'maxJobsPerWorker'])('refuses a count that is none: %s', async (name) => {
    for (const value of [0, -1, 1.5, Number.NaN, '2']) expect((await refused({ ...optionsOf(), [name]: value })).message).toContain(name)
  })

  it.each([
    ['spare', -1],
    ['maxPutBacks', -1],
    ['dispatch', 'fastest'],
    ['dispatch', 0],
    ['output', 'pipe'],
    ['watchdog', 'yes'],
    ['killTree', 1],
    ['execArgv', '--no-warnings'],
    ['env', 'A=1'],
    ['tasks', undefined],
    ['tasks', 42],
    ['tasks', []],
    ['cwd', 3],
    ['workers', { min: 3, max: 2 }],
    ['workers', { min: -1 }],
    ['logger', {}],
  ])('refuses %s: %s', async (name, value) => {
    const error = await refused({ ...optionsOf(), [name]: value })
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toContain(name)
  })

  it('refuses a hard limit below the soft limit of the same level', async () => {
    expect((await refused({ ...optionsOf(), timeLimit: 100, softTimeLimit: 200 })).message).toMatch(/timeLimit.*softTimeLimit|softTimeLimit.*timeLimit/s)
    expect((await refused({ ...optionsOf(), maxMemoryPerWorker: 1e9, hardMemoryLimit: 1e8 })).message).toMatch(/hardMemoryLimit/)
  })

  it('refuses a call without options', async () => {
    for (const options of [undefined, null, 'tasks.js', []]) expect(await refused(options as never)).toBeInstanceOf(TypeError)
  })
})

describe('promise 8: a call', () => {
  const shared = sharedPool()

  it('names itself and the misspelt option in the error', async () => {
    const pool = shared.pool as unknown as Pool
    const refusals = (options: object) =>
      Promise.all(
        [pool.run('echo', [], options), pool.submit('echo', [], options).result, pool.stream('echo', [], options).next()].map((each) => failure(each)),
      )
    const calls = ['run', 'submit', 'stream']
    expect(await refusals({ timelimit: 1 })).toMatchObject(
      calls.map((call) => ({ message: expect.stringContaining(`'timelimit' of pool.${call}('echo', …)`) })),
    )
    expect(await refusals(new AbortController().signal)).toMatchObject(
      calls.map(() => ({ message: expect.stringContaining('an AbortSignal: pass { signal }') })),
    )
    expect(await refusals([])).toMatchObject(calls.map((call) => ({ message: expect.stringContaining(`pool.${call}('echo', [arguments], {`) })))
  })

  it('rejects with TaskNotFoundError and the known names before it writes anything', async () => {
    const { bytesWritten } = shared.pool.stats().workers[0]!
    const error = (await failure(shared.pool.run('ecoh', [1]))) as TaskNotFoundError
    expect(error).toBeInstanceOf(TaskNotFoundError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_TASK_NOT_FOUND' })
    expect(error.known).toEqual(expect.arrayContaining(['echo', 'pid', 'sleep']))
    expect(error.known).not.toContain('notAFunction')
    expect(error.message).toContain('ecoh')
    expect(error.message).toContain('echo')
    for (const name of ['toString', '__proto__', 'constructor', 'notAFunction', '', undefined, 42, Symbol('echo')]) {
      expect(await failure(shared.pool.run(name as string, []))).toBeInstanceOf(Error)
    }
    expect(shared.pool.stats().workers[0]!.bytesWritten).toBe(bytesWritten)
  })

  it('rejects with a TypeError that shows the right call when the arguments are no array', async () => {
    for (const args of [null, 1, 'text', { 0: 1, length: 1 }, new Set([1])]) {
      const error = (await failure(shared.pool.run('echo', args as never))) as Error
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toMatch(/\[.*\]/)
      expect(error.message).toContain("'echo'")
    }
  })

  it('says that an item of map is the arguments of one call, and shows how to write it', async () => {
    expect(() => shared.pool.map('echo', [], new AbortController().signal as never)).toThrow('an AbortSignal: pass { signal }')
    await expect(shared.pool.map('echo', ['ab'] as never).next()).rejects.toThrow(
      "Each item of the source of pool.map('echo', source) is an array, the arguments of one call: ['ab'], not 'ab'.",
    )
  })

  it('names the task and the path of a value that cannot be copied', async () => {
    await expect(shared.pool.run('echo', [{ f: () => {} }])).rejects.toThrow(/^A call of 'echo' cannot be sent: args\[0\]\.f is a function/)
    await expect(shared.pool.run('echo', [1], { calledAs: 'mail', context: () => {} })).rejects.toThrow(
      /^A call of 'mail' cannot be sent: options\.context is a function/,
    )
  })

  it.each([
    ['timeLimit', 0],
    ['timeLimit', -5],
    ['timeLimit', Number.NaN],
    ['softTimeLimit', '100'],
    ['priority', Number.NaN],
    ['priority', 'high'],
    ['retryLost', -1],
    ['retryLost', 1.5],
    ['signal', {}],
    ['transfer', 'all'],
    ['id', 42],
  ])('with a bad option rejects, and does not throw: %s %s', async (name, value) => {
    const error = (await failure(shared.pool.run('echo', [1], { [name]: value }))) as Error
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toContain(name)
  })

  it('suggests the right name for a misspelt option', async () => {
    const error = (await failure(shared.pool.run('echo', [1], { timelimit: 5 } as never))) as Error
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toMatch(/timelimit.*timeLimit/s)
  })

  it('refuses a hard limit below the soft limit', async () => {
    const error = (await failure(shared.pool.run('echo', [1], { timeLimit: 100, softTimeLimit: 200 }))) as Error
    expect(error.message).toMatch(/timeLimit.*softTimeLimit|softTimeLimit.*timeLimit/s)
  })

  it('counts in no statistics when it is refused', async () => {
    const pool = await startPool()
    await failure(pool.run('noSuchTask', []))
    await failure(pool.run('echo', 1 as never))
    await failure(pool.run('echo', [() => {}]))
    expect(pool.stats()).toMatchObject({ queued: 0, running: 0 })
    expect(await pool.run('echo', [1])).toBe(1)
  })

  it('rejects with PoolClosedError after close(), whatever else is wrong', async () => {
    const pool = await startPool()
    await pool.close()
    for (const call of [
      () => pool.run('echo', [1]),
      () => pool.run('noSuchTask', []),
      () => pool.submit('echo', [1]).result,
      () => pool.ready(),
      () => pool.broadcast('pid', []),
    ]) {
      expect(await failure(Promise.resolve(call()))).toMatchObject({ name: 'PoolClosedError' })
    }
  })

  it('rejects when the name of the task cannot be converted to a string', async () => {
    const pool = await startPool()
    const name = Object.create(null) as string
    expect(await failure(pool.run(name, []))).toBeInstanceOf(TypeError)
    expect(await failure(pool.submit(name, []).result)).toBeInstanceOf(TypeError)
    expect(await failure(pool.stream(name, []).next())).toBeInstanceOf(TypeError)
  })
})
