import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { mergeOptions } from '../../../src/pool/jobs/run-options.js'
import type { PoolOptions } from '../../../src/pool/types.js'
import type { TaskInfo } from '../../../src/wire/messages.js'
import { read, refusal } from '../option-help.js'

type Limits = [soft: number, hard: number]
const NONE: Limits = [0, 0]
const named = ([soft, hard]: Limits) => ({ softTimeLimit: soft || undefined, timeLimit: hard || undefined })

/** The limits that a job gets from the pool's, `defineTask`'s and the call's. */
const limits = (pool: Limits, task: Limits, run?: Limits): Limits => {
  const { softLimit, hardLimit } = mergeOptions(read(named(pool)), { name: 'task', ...named(task) }, run === undefined ? undefined : named(run))
  return [softLimit, hardLimit]
}

const merge = (given: unknown, task: Partial<TaskInfo> = {}, pool: Partial<PoolOptions> = {}) => mergeOptions(read(pool), { name: 'resize', ...task }, given)

describe('limits', () => {
  test.each<[string, Limits, Limits, Limits | undefined, Limits]>([
    ['none anywhere', NONE, NONE, undefined, NONE],
    ["the pool's, when no one else names any", [100, 200], NONE, undefined, [100, 200]],
    ["the pool's, when the call names other options", [100, 200], NONE, NONE, [100, 200]],
    ["defineTask's beat the pool's", [100, 200], [150, 300], undefined, [150, 300]],
    ["the call's beat both", [100, 200], [150, 300], [10, 20], [10, 20]],
    ['each by itself: the soft one', [100, 500], NONE, [50, 0], [50, 500]],
    ['each by itself: the hard one', [100, 500], NONE, [0, 900], [100, 900]],
    ['each from another level', [100, 0], [0, 500], [200, 0], [200, 500]],
    ['a hard limit equal to the inherited soft one leaves it', [100, 0], NONE, [0, 100], [100, 100]],
    ["the call's hard limit below the pool's soft one drops that", [300, 0], NONE, [0, 150], [0, 150]],
    ["the call's hard limit below the task's soft one drops that", [50, 0], [300, 0], [0, 150], [0, 150]],
    ["the task's hard limit below the pool's soft one drops that", [300, 900], [0, 150], undefined, [0, 150]],
    ["the call's soft limit above an inherited hard one is dropped: the hard one is never loosened in passing", [0, 100], NONE, [500, 0], [0, 100]],
  ])('%s', (_, pool, task, run, expected) => {
    expect(limits(pool, task, run)).toEqual(expected)
  })

  test('a hard limit below the soft one of the same call is refused', () => {
    expect(refusal(() => limits(NONE, NONE, [200, 100]))).toMatch(/^Option 'timeLimit' must be at least the softTimeLimit of 200 ms .* it was given 100\.$/)
  })
})

describe('what are no options', () => {
  test.each([
    [new AbortController().signal, 'an AbortSignal: pass { signal }'],
    [new AbortController(), 'an AbortController'],
    [new Map([['timeLimit', 5]]), 'a Map'],
    [new Set(), 'a Set'],
    [new Date(), 'a Date'],
    [Promise.resolve({}), 'a Promise'],
    [new URL('https://x/y.js'), 'a URL'],
    [[1], 'an array'],
    [null, 'null'],
    [5, '5'],
    [runInNewContext('new Map()'), 'a Map'],
  ])('%o is refused', (given, found) => {
    expect(refusal(() => merge(given))).toBe(
      `The options of a job are an object: pool.run('resize', [arguments], { timeLimit: 5_000 }); they were given ${found}.`,
    )
  })

  class Options {
    timeLimit = 5
  }

  test.each([
    ['without a prototype', Object.assign(Object.create(null), { timeLimit: 5 })],
    ['of a class', new Options()],
    ['that inherits them', Object.create({ timeLimit: 5 })],
    ['of another realm', runInNewContext('({ timeLimit: 5 })')],
  ])('an object %s is', (_, given) => {
    expect(merge(given).hardLimit).toBe(5)
  })
})

describe('a call', () => {
  test('without options has the defaults', () => {
    const defaults = {
      softLimit: 0,
      hardLimit: 0,
      signal: undefined,
      priority: 0,
      retryLost: 0,
      transfer: undefined,
      context: undefined,
      calls: undefined,
      delivery: undefined,
      id: undefined,
      cancel: undefined,
      calledAs: undefined,
    }
    expect(merge(undefined)).toEqual(defaults)
    expect(merge({})).toEqual(defaults)
    expect(merge(Object.fromEntries(['timeLimit', 'softTimeLimit', ...Object.keys(defaults).slice(2)].map((name) => [name, undefined])))).toEqual(defaults)
  })

  test('hands its options on', () => {
    const { signal } = new AbortController()
    const options = { signal, priority: -1.5, retryLost: 3, transfer: [new ArrayBuffer(8)], context: { user: 5 }, id: 'a-1', cancel: 'ask', calledAs: 'b' }
    expect(merge({ ...options, timeLimit: 10.5 })).toEqual({ ...options, softLimit: 0, hardLimit: 11 })
  })

  test("retryLost beats defineTask's, also with 0", () => {
    expect(merge(undefined, { retryLost: 2 }).retryLost).toBe(2)
    expect(merge({}, { retryLost: 2 }).retryLost).toBe(2)
    expect(merge({ retryLost: 0 }, { retryLost: 2 }).retryLost).toBe(0)
  })

  test.each([
    [{ timeLimit: '5s' }, "Option 'timeLimit' must be a number of milliseconds"],
    [{ softTimeLimit: 0 }, "Option 'softTimeLimit' must be a number of milliseconds"],
    [{ signal: new AbortController() }, "Option 'signal' must be an AbortSignal; it was given an AbortController."],
    [{ signal: null }, "Option 'signal' must be an AbortSignal"],
    [{ priority: 'high' }, "Option 'priority' must be a finite number (higher first)"],
    [{ priority: Number.NaN }, "Option 'priority' must be"],
    [{ priority: Number.POSITIVE_INFINITY }, "Option 'priority' must be"],
    [{ retryLost: -1 }, "Option 'retryLost' must be a whole number of at least 0"],
    [{ retryLost: 0.5 }, "Option 'retryLost' must be"],
    [{ transfer: new ArrayBuffer(1) }, "Option 'transfer' must be an array of ArrayBuffers"],
    [{ transfer: [Buffer.alloc(1)] }, "Option 'transfer[0]' must be an ArrayBuffer (pass buffer.buffer, not the Buffer); it was given an object."],
    [{ transfer: [new ArrayBuffer(1), {}] }, "Option 'transfer[1]' must be an ArrayBuffer"],
    [{ calls: [] }, "Option 'calls' must be a plain object of functions; it was given an empty array."],
    [{ calls: { lookUp: 5 } }, "Option 'calls.lookUp' must be a function; it was given 5."],
    [{ id: '' }, "Option 'id' must be a non-empty string"],
    [{ id: 5 }, "Option 'id' must be a non-empty string"],
    [{ cancel: 'now' }, "Option 'cancel' must be 'ask' (it settles once its task has ended), or left out (it rejects at once); it was given 'now'."],
    [{ cancel: true }, "Option 'cancel' must be 'ask'"],
    [{ calledAs: '' }, "Option 'calledAs' must be a non-empty string"],
    [{ calledAs: 5 }, "Option 'calledAs' must be a non-empty string"],
    [{ calledAs: 'x'.repeat(4_097) }, "Option 'calledAs' must have at most 4096 characters; it has 4097."],
    [{ timeout: 5 }, "Unknown option 'timeout' of pool.run('resize', …)"],
    [{ timeLimt: 5 }, "did you mean 'timeLimit'?"],
  ])('%o is refused', (given, message) => {
    expect(refusal(() => merge(given))).toContain(message)
  })

  test.each([5_000, 'fast', null, []])('%o is no options object', (given) => {
    expect(refusal(() => merge(given))).toContain("pool.run('resize', [arguments], { timeLimit: 5_000 })")
  })
})
