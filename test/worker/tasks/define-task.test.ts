import { afterEach, describe, expect, test } from 'vitest'
import { currentJob, defineTask, NonRetryableError, onJobEnd, onJobStart, onWorkerStart, onWorkerStop, RetryAfterError } from '../../../src/worker/index.js'
import { workerState } from '../../../src/worker/state.js'

describe('defineTask', () => {
  test('returns the function itself, and keeps its options', () => {
    const task = async (width: number) => width * 2
    const defined = defineTask({ timeLimit: 10, softTimeLimit: 5 }, task)
    expect(defined).toBe(task)
    expect(workerState().tasks.get(defined)).toMatchObject({ timeLimit: 10, softTimeLimit: 5 })
    expect(workerState().tasks.get(defineTask(() => 1))).toBeDefined()
  })

  test('keeps maxAttempts and backoff for a node, and announces neither where they are not given', () => {
    const given = { maxAttempts: 2, backoff: { kind: 'exponential', delay: 5, maxDelay: 9, jitter: 0.5 } } as const
    expect(workerState().tasks.get(defineTask(given, () => 1))).toMatchObject(given)
    const plain = workerState().tasks.get(defineTask({ retryLost: 1 }, () => 1))
    expect(Object.keys(plain!)).toEqual(['timeLimit', 'softTimeLimit', 'retryLost'])
  })

  test('a function defined twice is two tasks', async () => {
    const task = (value: number) => value
    const first = defineTask({ retryLost: 1 }, task)
    const second = defineTask({ retryLost: 2 }, task)
    expect(second).not.toBe(first)
    expect(second(7)).toBe(7)
    expect([first, second].map((defined) => workerState().tasks.get(defined)?.retryLost)).toEqual([1, 2])
  })

  test.each<[object, RegExp]>([
    [{ timelimit: 5 }, /'timelimit'.*'timeLimit'/],
    [{ timeLimit: 0 }, /timeLimit is 0/],
    [{ timeLimit: Number.POSITIVE_INFINITY }, /timeLimit is Infinity/],
    [{ softTimeLimit: -1 }, /softTimeLimit is -1/],
    [{ softTimeLimit: '5' }, /softTimeLimit is 5/],
    [{ timeLimit: 5, softTimeLimit: 6 }, /below softTimeLimit/],
    [{ retryLost: 1.5 }, /retryLost is 1.5/],
    [{ retryLost: -1 }, /retryLost is -1/],
    [{ maxAttempts: 0 }, /'maxAttempts' must be a whole number of at least 1; it was given 0/],
    [{ maxAttempt: 2 }, /'maxAttempt'.*'maxAttempts'/],
    [{ backoff: 'fixed' }, /'backoff' must be an object/],
    [{ backoff: { kind: 'linear', delay: 1 } }, /'backoff.kind' must be 'fixed' or 'exponential'/],
    [{ backoff: { kind: 'fixed', delay: 5, maxdelay: 1 } }, /'maxdelay' of backoff; did you mean 'maxDelay'/],
    [{ backoff: { kind: 'exponential', delay: 5, maxDelay: 4 } }, /'backoff.maxDelay' must be at least the delay of 5 ms/],
  ])('refuses %o', (options, message) => {
    expect(() => defineTask(options, () => 1)).toThrow(message)
    expect(() => defineTask(options, () => 1)).toThrow(TypeError)
  })

  test('takes an undefined option as absent, and only functions', () => {
    expect(() => defineTask({ timeLimit: undefined }, () => 1)).not.toThrow()
    expect(() => defineTask({}, 5 as unknown as () => void)).toThrow(TypeError)
    expect(() => defineTask(null as unknown as object, () => 1)).toThrow(TypeError)
  })
})

describe('the errors by which a task decides about its retries', () => {
  test('are errors as any, with a code', () => {
    const cause = new Error('inside')
    const error = new NonRetryableError('never', { cause })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'NonRetryableError', message: 'never', code: 'ERR_PREFORK_NON_RETRYABLE', cause })
    expect(new NonRetryableError().message).toBe('')
    const later = new RetryAfterError('busy', { delay: 1.5, cause })
    expect(later).toMatchObject({ name: 'RetryAfterError', message: 'busy', code: 'ERR_PREFORK_RETRY_AFTER', delay: 1.5, cause })
    expect(new RetryAfterError('busy', { delay: 0 }).delay).toBe(0)
  })

  test.each([
    [undefined],
    [null],
    [5],
    [{}],
    [{ delay: '5' }],
    [{ delay: -1 }],
    [{ delay: Number.NaN }],
    [{ delay: Number.POSITIVE_INFINITY }],
    [{ delay: 5n }],
  ])('a RetryAfterError takes no %o', (options) => {
    expect(() => new RetryAfterError('busy', options as never)).toThrow(TypeError)
    expect(() => new RetryAfterError('busy', options as never)).toThrow(
      /'delay' must be the milliseconds before the next attempt, a finite number of 0 or more/,
    )
  })
})

describe('currentJob', () => {
  afterEach(() => {
    workerState().inWorker = false
  })

  test('outside a worker is a job that is never cancelled and whose reports go nowhere', () => {
    const { id, name, attempt, signal, log, progress, context } = currentJob()
    log('a line')
    log.error('another')
    progress(1)
    expect([typeof id, typeof name, attempt, signal.aborted, context]).toEqual(['string', 'string', 1, false, undefined])
  })

  test('in a worker but outside a job throws', () => {
    workerState().inWorker = true
    expect(() => currentJob()).toThrow(expect.objectContaining({ code: 'ERR_PREFORK_NO_JOB', message: expect.stringContaining('outside a job') }))
  })
})

test('hooks are functions', () => {
  const { start, stop, jobStart, jobEnd } = workerState()
  const lists = [start, stop, jobStart, jobEnd]
  const before = lists.map((list) => list.length)
  for (const register of [onWorkerStart, onWorkerStop, onJobStart, onJobEnd]) {
    expect(() => register(5 as never)).toThrow(TypeError)
    register(() => {})
  }
  for (const [i, list] of lists.entries()) expect(list.splice(before[i]!)).toHaveLength(1)
})
