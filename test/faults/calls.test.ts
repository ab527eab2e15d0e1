import { AsyncLocalStorage } from 'node:async_hooks'
import { type PoolOptions, TimeLimitError, WorkerLostError } from 'prefork'
import { currentJob } from 'prefork/worker'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fixture, pidOf, sharedPool, startPool, type TestPool } from '../fixtures/pools.js'
import { failure, Latch, until, within } from '../fixtures/support.js'

const withCalls = (options: Partial<PoolOptions> = {}): Promise<TestPool> => startPool({ tasks: fixture('calls.js'), ...options })

const double = (value: number): number => 2 * value

const collect = async (iterable: AsyncIterable<unknown>): Promise<unknown[]> => {
  const all: unknown[] = []
  for await (const item of iterable) all.push(item)
  return all
}

/** A function of the host whose calls the test answers. */
const waiting = () => {
  const calls: { args: unknown[]; answer: (value: unknown) => void; reject: (error: unknown) => void }[] = []
  const wait = (...args: unknown[]): Promise<unknown> => new Promise((answer, reject) => calls.push({ args, answer, reject }))
  const made = async (count: number) => {
    await until(`${count} calls have come`, () => calls.length >= count)
    return calls
  }
  return { wait, calls, made }
}

/** Calls of a job that the host has not answered. */
const outstanding = (job: unknown): number => (job as { spec: { calls: { outstanding: number } } }).spec.calls.outstanding

/** Fails the test if the host sees an unhandledRejection. */
const noUnhandledRejection = (): void => {
  const seen: unknown[] = []
  const note = (error: unknown): void => void seen.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => {
    process.off('unhandledRejection', note)
    expect(seen).toEqual([])
  })
}

const shared = sharedPool({ tasks: fixture('calls.js') })

describe('a task calls a function of its host', () => {
  it('and gets what it returns or resolves with', async () => {
    const { pool } = shared
    const values = [undefined, null, 7, 'text', [1, { a: new Map([[1, new Set(['x'])]]) }], new Date(3), Buffer.from('bytes'), 12n]
    for (const value of values) {
      expect(await pool.run('ask', ['echo', value], { calls: { echo: (given: unknown) => given } })).toEqual(value)
      expect(await pool.run('ask', ['echo', value], { calls: { echo: async (given: unknown) => given } })).toEqual(value)
    }
    expect(await pool.run('askDefined', [3], { calls: { double } })).toBe(12)
    expect(await pool.run('ask', ['none'], { calls: { none: () => {} } })).toBe(undefined)
  })

  it('each call gets its own answer, whatever the order of the answers', async () => {
    const { wait, made } = waiting()
    const result = shared.pool.run('many', [64], { calls: { wait } })
    const calls = await made(64)
    for (const { args, answer } of [...calls].reverse()) answer(`answer ${args[0]}`)
    expect(await result).toEqual(Array.from({ length: 64 }, (_, index) => ({ value: `answer ${index}` })))
  })

  it('with the arguments alone, and without a receiver', async () => {
    const seen: unknown[] = []
    function look(this: unknown, ...args: unknown[]): void {
      seen.push([this, ...args])
    }
    await shared.pool.run('ask', ['look', 1, 'two'], { calls: { look } })
    expect(seen).toEqual([[undefined, 1, 'two']])
  })

  it('from stream, map, submit and broadcast as well', async () => {
    const { pool } = shared
    const calls = { double }
    expect(await collect(pool.stream('doubled', [5], { calls }))).toEqual([0, 2, 4, 6, 8])
    expect(await collect(pool.map('answers', [[[1]], [[2, 3]]], { calls }))).toEqual([[2], [4, 6]])
    expect(await pool.submit('answers', [[4]], { calls }).result).toEqual([8])
    expect(await pool.broadcast('answers', [[5]], { calls })).toEqual([[10]])
  })

  it('in the async context of the submission', async () => {
    const { pool } = shared
    const storage = new AsyncLocalStorage<string>()
    const calls = { where: () => storage.getStore(), double: (value: number) => [value, storage.getStore()] }
    expect(await storage.run('run', () => pool.run('ask', ['where'], { calls }))).toBe('run')
    const stream = storage.run('stream', () => pool.stream('doubled', [1], { calls }))
    const map = storage.run('map', () => pool.map('answers', [[[1]], [[2]]], { calls }))
    expect(await storage.run('elsewhere', () => collect(stream))).toEqual([[0, 'stream']])
    expect(await storage.run('elsewhere', () => collect(map))).toEqual([[[1, 'map']], [[2, 'map']]])
    expect(await storage.run('broadcast', () => pool.broadcast('ask', ['where'], { calls }))).toEqual(['broadcast'])
  })

  it('and is still its own job after the answer', async () => {
    const pool = await withCalls({ watchdog: false, concurrency: 4 })
    const later = async (value: number): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(value), 5 - value))
    const jobs = [1, 2, 3, 4].map((value) => pool.submit('idAround', [value], { calls: { double: later } }))
    for (const job of jobs) expect(await job.result).toEqual([job.id, job.id])
  })

  it('without a watchdog thread', async () => {
    const pool = await withCalls({ watchdog: false })
    expect(await pool.run('answers', [[1, 2]], { calls: { double } })).toEqual([2, 4])
  })
})

describe('the option calls', () => {
  it.each([
    ['an array', [], "Option 'calls' must be a plain object of functions; it was given an empty array."],
    ['null', null, "Option 'calls' must be a plain object of functions; it was given null."],
    ['a function', double, "Option 'calls' must be a plain object of functions; it was given a function."],
    ['an object of a class', new Map(), "Option 'calls' must be a plain object of functions; it was given a Map."],
    ['an entry that is no function', { double, lookUp: Promise.resolve(1) }, "Option 'calls.lookUp' must be a function; it was given a Promise."],
    ['an entry that is undefined', { double: undefined }, "Option 'calls.double' must be a function; it was given undefined."],
  ])('refuses %s', async (_, calls, message) => {
    const { pool } = shared
    expect(await failure(pool.run('pid', [], { calls: calls as never }))).toMatchObject({ name: 'TypeError', message })
    expect(() => pool.map('pid', [[]], { calls: calls as never })).toThrow(message)
    expect(await failure(pool.broadcast('pid', [], { calls: calls as never }))).toMatchObject({ message })
  })

  it('is named when it is misspelt', async () => {
    const error = await failure(shared.pool.run('pid', [], { call: { double } } as never))
    expect(error).toMatchObject({ message: expect.stringContaining("Unknown option 'call' of pool.run('pid', …); did you mean 'calls'?") })
  })

  it('counts its own properties alone', async () => {
    const { pool } = shared
    for (const name of ['toString', '__proto__', 'constructor', 'hasOwnProperty'])
      expect(await pool.run('refusal', [name], { calls: { double } }), name).toMatchObject({ code: 'ERR_PREFORK_UNKNOWN_CALL' })
    const derived = Object.assign(Object.create({ inherited: double }), { double })
    expect(await failure(pool.run('pid', [], { calls: derived }))).toMatchObject({ message: expect.stringContaining('must be a plain object') })
    expect(await pool.run('ask', ['double', 2], { calls: Object.assign(Object.create(null), { double }) })).toBe(4)
  })

  it('is read at the call: what changes later has no effect', async () => {
    const calls = { double }
    const result = shared.pool.run('ask', ['double', 2], { calls })
    calls.double = () => 0
    expect(await result).toBe(4)
  })
})

describe('a call rejects', () => {
  const shared = sharedPool({ watchdog: false, tasks: fixture('calls.js'), maxMessageSize: 20_000 })

  it('with what the function throws or rejects with, with its class, code and cause, and the frames of both sides', async () => {
    const { pool } = shared
    const fail = function failInHost(): never {
      throw Object.assign(new RangeError('out of range', { cause: new Error('the cause') }), { code: 'E_HOST' })
    }
    for (const thrower of [fail, async () => fail()]) {
      const seen = (await pool.run('classOf', ['fail'], { calls: { fail: thrower } })) as Record<string, unknown>
      expect(seen).toMatchObject({ range: true, isError: true, text: 'RangeError: out of range', code: 'E_HOST', cause: 'the cause' })
      expect(seen.stack).toMatch(/at failInHost .*calls\.test\.ts/)
      expect(seen.stack).toMatch(/at async classOf .*fixtures\/calls\.js/)
      expect(seen.stack).not.toMatch(/node:|\/dist\//)
    }
    const error = await failure(pool.run('awaitInside', ['fail'], { calls: { fail } }))
    expect(error).toBeInstanceOf(RangeError)
    expect(error).toMatchObject({ message: 'out of range', code: 'E_HOST' })
    expect(await pool.run('classOf', ['fail'], { calls: { fail: () => Promise.reject('a string') } })).toMatchObject({ isError: false, text: 'a string' })
    const lost = () => Promise.reject(new WorkerLostError('lost', { accepted: true, reason: 'exit' }))
    expect(await failure(pool.run('ask', ['lost'], { calls: { lost } }))).toBeInstanceOf(WorkerLostError)
  })

  it('when no function has the name', async () => {
    const refusal = await shared.pool.run('refusal', ['lokUp'], { calls: { lookUp: double, save: double } })
    expect(refusal).toMatchObject({
      name: 'PreforkError',
      code: 'ERR_PREFORK_UNKNOWN_CALL',
      message: "The job 'refusal' has no call 'lokUp'; did you mean 'lookUp'? It was given: lookUp, save.",
    })
    expect(await shared.pool.run('refusal', ['x'.repeat(10_000)], { calls: {} })).toMatchObject({
      code: 'ERR_PREFORK_UNKNOWN_CALL',
      message: expect.stringMatching(/^.{0,200}It was given none\.$/s),
    })
  })

  it('when the job was given no calls', async () => {
    expect(await shared.pool.run('refusal', ['lookUp'])).toMatchObject({
      code: 'ERR_PREFORK_NO_CALLS',
      message: "The task 'refusal' called 'lookUp', but its job was given no calls: pool.run('refusal', [arguments], { calls: { … } }).",
    })
  })

  it.each([
    ['function', { code: 'ERR_PREFORK_SERIALIZATION', message: 'args[1].callback is a function' }],
    ['deep', { code: 'ERR_PREFORK_SERIALIZATION', message: expect.stringContaining('nested too deeply') }],
    ['large', { code: 'ERR_PREFORK_SERIALIZATION', message: expect.stringMatching(/^The arguments of the call 'take' take \d+ KB, more than maxMessageSize/) }],
    ['name', { name: 'TypeError', message: expect.stringContaining('is the name of a function') }],
    ['long name', { name: 'TypeError', message: 'The name of a call has at most 65535 bytes, not 70000.' }],
  ])('when its arguments cannot be sent: %s', async (kind, expected) => {
    let called = 0
    const take = (): number => ++called
    expect(await shared.pool.run('badArguments', [kind, 30_000], { calls: { take } })).toMatchObject(expected)
    expect(await shared.pool.run('ask', ['take'], { calls: { take } })).toBe(1)
  })

  it.each([
    ['cannot be copied', () => ({ fn: () => {} }), "The answer of the call 'answer' cannot be sent: answer.fn is a function"],
    ['is too large', () => Buffer.alloc(30_000), /^The answer of the call 'answer' has 30 KB, more than maxMessageSize \(20 KB\)\.$/],
    [
      'is an error too large',
      () => Promise.reject(new Error('x'.repeat(30_000))),
      /^The error of the call 'answer' has \d+ KB, more than maxMessageSize \(20 KB\)\.$/,
    ],
  ])('when its answer %s', async (_, answer, message) => {
    const refusal = (await shared.pool.run('refusal', ['answer'], { calls: { answer } })) as { message: string }
    expect(refusal).toMatchObject({ name: 'SerializationError', code: 'ERR_PREFORK_SERIALIZATION' })
    expect(refusal.message).toMatch(message)
    expect(await shared.pool.run('ask', ['double', 1], { calls: { double } })).toBe(2)
  })

  it('with its own error even where maxMessageSize is tiny', async () => {
    const pool = await withCalls({ watchdog: false, maxMessageSize: 700 })
    const pid = await pidOf(pool)
    const answer = (): Promise<never> => Promise.reject(new Error('x'.repeat(3_000)))
    expect(await failure(pool.run('ask', ['answer'], { calls: { answer } }))).toMatchObject({
      message: expect.stringContaining('more than maxMessageSize (700 bytes)'),
    })
    expect(await pidOf(pool)).toBe(pid)
  })

  it('as the 65th that is unanswered, until one is answered', async () => {
    const { wait, made } = waiting()
    const result = shared.pool.run('many', [66], { calls: { wait } }) as Promise<{ code?: string; value?: unknown }[]>
    const calls = await made(64)
    for (const { answer } of calls) answer('answered')
    const outcomes = await result
    expect(outcomes.filter(({ value }) => value === 'answered')).toHaveLength(64)
    expect(outcomes.slice(64)).toMatchObject([{ code: 'ERR_PREFORK_TOO_MANY_CALLS' }, { code: 'ERR_PREFORK_TOO_MANY_CALLS' }])
    expect(calls).toHaveLength(64)
    expect(await shared.pool.run('answers', [Array.from({ length: 64 }, (_, index) => index)], { calls: { double } })).toHaveLength(64)
  })

  it('in a job hook', async () => {
    const pool = await withCalls({ watchdog: false, env: { ...process.env, PREFORK_TEST_HOOKS: '1' } })
    let called = 0
    expect(await pool.run('ask', ['double', 1], { calls: { double, hook: () => ++called } })).toBe(2)
    const [start, end] = (await pool.run('hookCalls', [])) as unknown[]
    for (const outcome of [start, end]) expect(outcome).toMatchObject({ code: 'ERR_PREFORK_NO_JOB', message: expect.stringMatching(/^A hook called 'hook'/) })
    expect(called).toBe(0)
  })

  it('outside a worker', async () => {
    expect(await failure(currentJob().call('lookUp', 1))).toMatchObject({ code: 'ERR_PREFORK_NO_CALLS' })
  })
})

describe('a job that ends in mid-call', () => {
  it('leaves a call unanswered without a fault, and the host has run it', async () => {
    const { pool } = shared
    const faults: unknown[] = []
    pool.on('workerFault', (fault) => faults.push(fault))
    const { wait, made } = waiting()
    const job = pool.submit('leaveCall', [], { calls: { wait } })
    expect(await job.result).toBe('answered')
    expect((await made(1))[0]!.args).toEqual(['left'])
    expect(outstanding(job)).toBe(0)
    expect(await pool.run('callLater', [1], { calls: { wait } })).toBe('answered')
    const late = (await pool.run('lateOutcome', [])) as unknown
    expect(late).toMatchObject({ code: 'ERR_PREFORK_CALL_ENDED', message: expect.stringContaining("the job 'callLater' has ended") })
    expect(faults).toEqual([])
  })

  it('because its worker died: what its function returns goes nowhere', async () => {
    noUnhandledRejection()
    const { pool } = shared
    const { wait, made } = waiting()
    const jobs = [pool.submit('dieAfterCall', [], { calls: { wait } }), pool.submit('dieAfterCall', [], { calls: { wait } })]
    for (const job of jobs) expect(await failure(job.result)).toBeInstanceOf(WorkerLostError)
    const calls = await made(2)
    expect(jobs.map(outstanding)).toEqual([0, 0])
    calls[0]!.answer('too late')
    calls[1]!.reject(new Error('too late'))
    expect(await pool.run('ask', ['double', 2], { calls: { double } })).toBe(4)
  })

  it('and runs again (retryLost): the answer of one attempt does not reach the next', async () => {
    noUnhandledRejection()
    const { pool } = shared
    const { wait, made } = waiting()
    const job = pool.submit('attempts', [], { calls: { wait }, retryLost: 1 })
    await made(1)
    process.kill(await pool.stats().workers[0]!.pid!, 'SIGKILL')
    const [first, second] = await made(2)
    expect([first!.args, second!.args, outstanding(job)]).toEqual([[1], [2], 1])
    first!.answer('of the first attempt')
    await new Promise((resolve) => setTimeout(resolve, 20))
    second!.answer('of the second attempt')
    expect(await job.result).toEqual([2, 'of the second attempt'])
    expect(outstanding(job)).toBe(0)
  })

  it('because it was cancelled: the call rejects in the task, and the worker lives', async () => {
    noUnhandledRejection()
    for (const watchdog of [true, false]) {
      const pool = await withCalls({ watchdog })
      const pid = await pidOf(pool)
      const { wait, made } = waiting()
      const job = pool.submit('callUntilCancelled', [], { calls: { wait } })
      const [call] = await made(1)
      expect(outstanding(job)).toBe(1)
      job.cancel(new Error('not wanted'))
      expect(await failure(job.result)).toMatchObject({ message: 'not wanted' })
      expect(outstanding(job)).toBe(0)
      call!.reject(new Error('too late'))
      const outcome = (await pool.run('cancelledOutcome', [])) as Record<string, unknown>
      const ended = { code: 'ERR_PREFORK_CALL_ENDED', message: expect.stringContaining("'callUntilCancelled' was cancelled"), cause: { message: 'not wanted' } }
      expect(outcome).toMatchObject({ first: ended, second: ended, reason: { message: 'not wanted' } })
      expect(await pidOf(pool)).toBe(pid)
    }
  })

  it('because of its time limit', async () => {
    noUnhandledRejection()
    const { pool } = shared
    const { wait, made } = waiting()
    const job = pool.submit('ask', ['wait'], { calls: { wait }, timeLimit: 300 })
    expect(await failure(job.result)).toBeInstanceOf(TimeLimitError)
    expect(outstanding(job)).toBe(0)
    ;(await made(1))[0]!.reject(new Error('too late'))
    expect(await pool.run('ask', ['double', 2], { calls: { double } })).toBe(4)
  })

  it('not because of its soft limit: the task may call until it ends', async () => {
    const { pool } = shared
    const { wait, made } = waiting()
    const job = pool.submit('softThenCall', [], { calls: { wait, double }, softTimeLimit: 100 })
    const softLimit = new Promise<void>((resolve) => job.on('softTimeLimit', resolve))
    const [call] = await made(1)
    await softLimit
    call!.answer('answered')
    expect(await job.result).toEqual(['SoftTimeLimitError', 'answered', 8])
  })

  it('because the pool is terminated', async () => {
    noUnhandledRejection()
    const pool = await withCalls({ watchdog: false })
    const { wait, made } = waiting()
    const job = pool.submit('many', [10], { calls: { wait } })
    const calls = await made(10)
    await pool.terminate()
    expect(await failure(job.result)).toMatchObject({ code: 'ERR_PREFORK_POOL_CLOSED', accepted: true })
    expect(outstanding(job)).toBe(0)
    for (const { reject } of calls) reject(new Error('too late'))
  })

  it('not because the pool closes, or replaces its worker', async () => {
    const pool = await withCalls({ watchdog: false })
    const { wait, made } = waiting()
    const first = pool.run('ask', ['wait', 1], { calls: { wait } })
    await made(1)
    const restarted = pool.restart()
    const [call] = await made(1)
    call!.answer('during a restart')
    expect(await first).toBe('during a restart')
    await restarted
    const second = pool.run('ask', ['wait', 2], { calls: { wait } })
    await made(2)
    const closed = pool.close()
    ;(await made(2))[1]!.answer('during close')
    expect(await second).toBe('during close')
    await closed
  })

  it('as a stream that its consumer leaves', async () => {
    const { pool } = shared
    const pid = await pidOf(pool)
    const { wait, made } = waiting()
    const stream = pool.stream('yieldsThenCalls', [], { calls: { wait } })
    expect(await stream.next()).toEqual({ done: false, value: 'first' })
    await made(1)
    await stream.return?.()
    await until('the generator has ended', () => pool.run('streamEnded', []))
    expect(await pidOf(pool)).toBe(pid)
  })
})

describe('answers', () => {
  it('are read while every slot is taken and other jobs are written ahead', async () => {
    const pool = await withCalls({ watchdog: false, concurrency: 2, dispatch: 'fast' })
    const { wait, made } = waiting()
    const holders = [1, 2].map((id) => pool.run('ask', ['wait', id], { calls: { wait } }))
    await made(2)
    const ahead = Array.from({ length: 50 }, () => pool.submit('pid', []))
    await until('they are written', () => ahead.every((job) => job.state === 'written'))
    for (const { args, answer } of await made(2)) answer(args[0])
    expect(await Promise.all(holders)).toEqual([1, 2])
    await Promise.all(ahead.map((job) => job.result))
  })

  it('are not taken back by a recall', async () => {
    const pool = await withCalls({ dispatch: 'fast' })
    const latch = new Latch()
    const fill = (index: number): Buffer => Buffer.alloc(10, index)
    const holder = pool.run('manyThenBlock', [40, latch.path], { calls: { fill } })
    const victims = Array.from({ length: 30 }, () => pool.submit('pid', []))
    await until('they are written', () => victims.every((job) => job.state === 'written'))
    for (const job of victims) expect(job.cancel()).toBe(true)
    const began = await within(Promise.all(victims.map((job) => job.began)), 20_000, 'the recall')
    expect(began.every((each) => !each)).toBe(true)
    latch.open()
    expect(await holder).toEqual(Array.from({ length: 40 }, (_, index) => [10, index]))
  })

  it('wait as values, not as bytes, while the worker does not read', async () => {
    const MIB = 1024 * 1024
    const pool = await withCalls({ watchdog: false })
    const latch = new Latch()
    let called = 0
    const fill = (index: number): Buffer => {
      called++
      return Buffer.alloc(MIB, index)
    }
    const result = pool.run('manyThenBlock', [64, latch.path], { calls: { fill } })
    await until('all have been called', () => called === 64)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(pool.stats().workers[0]!.bytesWritten).toBeLessThan(3 * MIB)
    latch.open()
    expect(await result).toEqual(Array.from({ length: 64 }, (_, index) => [MIB, index]))
    expect(pool.stats().workers[0]!.bytesWritten).toBeGreaterThan(64 * MIB)
  })

  it('reach the right job beside many others', async () => {
    const pool = await withCalls({ workers: 2, concurrency: 4 })
    const jobs = Array.from({ length: 300 }, (_, id) => {
      const own = async (value: number): Promise<number> => {
        if (value % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
        return id * 1_000 + value
      }
      return pool.run('answers', [[1, 2, 3]], { calls: { double: own } })
    })
    expect(await Promise.all(jobs)).toEqual(Array.from({ length: 300 }, (_, id) => [1, 2, 3].map((value) => id * 1_000 + value)))
  })

  it("go on while a job with cancel: 'ask' ends after it was cancelled", async () => {
    for (const watchdog of [true, false]) {
      const pool = await withCalls({ watchdog })
      const host = waiting()
      // Called once the task has been asked to end: only then is the call answered that waited before.
      const wasAsked = (value: number): number => {
        host.calls[0]!.answer('kept')
        return double(value)
      }
      const job = pool.submit('windUp', [], { cancel: 'ask', calls: { wait: host.wait, double: wasAsked } })
      await host.made(1)
      job.cancel(new Error('enough'))
      expect(await within(job.result, 10_000)).toEqual([8, 'kept'])
      expect(job.state).toBe('succeeded')
    }
  })
})
