import { beforeEach, describe, expect, test, vi } from 'vitest'
import { withTimeout } from '../../src/util/with-timeout.js'
import { fakeTime } from '../fixtures/fake-time.js'

describe('withTimeout', () => {
  beforeEach(() => fakeTime('setTimeout', 'clearTimeout'))

  const never = new Promise<never>(() => {})

  test('gives the result of the promise and clears its timer', async () => {
    const onTimeout = vi.fn()
    expect(await withTimeout(Promise.resolve(7), 50, onTimeout)).toBe(7)
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(100)
    expect(onTimeout).not.toHaveBeenCalled()
  })

  test('rejects with the error of the promise and clears its timer', async () => {
    const error = new Error('its own')
    await expect(withTimeout(Promise.reject(error), 50, () => 0)).rejects.toBe(error)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives what onTimeout returns, not before the time is over', async () => {
    const result = withTimeout<never, string>(never, 50, () => 'late')
    const settled = vi.fn()
    void result.then(settled)
    await vi.advanceTimersByTimeAsync(49)
    expect(settled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await result).toBe('late')
  })

  test('rejects with what onTimeout throws', async () => {
    const error = new Error('too late')
    const result = withTimeout<never>(never, 50, () => {
      throw error
    })
    const rejected = expect(result).rejects.toBe(error)
    await vi.advanceTimersByTimeAsync(50)
    await rejected
  })

  test('ignores a rejection after the time is over', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    try {
      let reject = (_error: Error): void => {}
      const late = new Promise<never>((_resolve, refuse) => {
        reject = refuse
      })
      const result = withTimeout<never, number>(late, 50, () => 1)
      await vi.advanceTimersByTimeAsync(50)
      expect(await result).toBe(1)
      reject(new Error('after the end'))
      vi.useRealTimers()
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).not.toHaveBeenCalled()
    } finally {
      process.off('unhandledRejection', unhandled)
    }
  })
})
