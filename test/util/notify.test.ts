import { expect, test } from 'vitest'
import { notify, throwLater } from '../../src/util/notify.js'

/** Runs `fn` and returns the uncaught exceptions that follow it. */
const uncaughtAfter = async (fn: () => void): Promise<unknown[]> => {
  const listeners = process.listeners('uncaughtException')
  const errors: unknown[] = []
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => errors.push(error))
  try {
    fn()
    expect(errors).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    return errors
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  }
}

test('throwLater throws in the next tick, where the error is an uncaught exception', async () => {
  const error = new Error('later')
  expect(await uncaughtAfter(() => throwLater(error))).toEqual([error])
})

test('notify calls the listener with its arguments', async () => {
  const calls: unknown[] = []
  expect(await uncaughtAfter(() => notify((a: number, b: string) => calls.push([a, b]), 1, 'two'))).toEqual([])
  expect(calls).toEqual([[1, 'two']])
})

test('the error of a listener is an uncaught exception and does not reach the caller', async () => {
  const error = new Error('of the listener')
  const errors = await uncaughtAfter(() =>
    notify(() => {
      throw error
    }),
  )
  expect(errors).toEqual([error])
})
