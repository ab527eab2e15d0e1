import { afterEach, describe, expect, test } from 'vitest'
import { currentJob, defineTask, onJobEnd, onJobStart, onWorkerStart, onWorkerStop } from '../../../src/worker/index.js'
import { workerState } from '../../../src/worker/state.js'

describe('defineTask', () => {
  test('returns the function itself, and keeps its options', () => {
    const task = async (width: number) => width * 2
    const defined = defineTask({ timeLimit: 10, softTimeLimit: 5 }, task)
    expect(defined).toBe(task)
    expect(workerState().tasks.get(defined)).toMatchObject({ timeLimit: 10, softTimeLimit: 5 })
    expect(workerState().tasks.get(defineTask(() => 1))).toBeDefined()
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
