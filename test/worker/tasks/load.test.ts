import { afterEach, describe, expect, test } from 'vitest'
import { workerState } from '../../../src/worker/state.js'
import { defineTask } from '../../../src/worker/tasks/define-task.js'
import { loaded, loadTasks, runStartHooks, StartFailure } from '../../../src/worker/tasks/load.js'

const fixture = (name: string): string => new URL(`../fixtures/${name}`, import.meta.url).href
const load = (urls: string[]) => loadTasks(urls, (url) => import(url))
const failureOf = async (promise: Promise<unknown>): Promise<StartFailure> => {
  const reason: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(reason).toBeInstanceOf(StartFailure)
  return reason as StartFailure
}

afterEach(loaded)

describe('loadTasks', () => {
  test('takes exported functions, and nothing else', async () => {
    const registry = await load([fixture('kinds.js')])
    expect(registry.names.sort()).toEqual(['arrow', 'bound', 'default', 'generator', 'items', 'later'])
  })

  test('takes what module.exports of a CommonJS module has', async () => {
    const registry = await load([fixture('common.cjs')])
    expect(registry.names.sort()).toEqual(['one', 'three', 'two'])
    expect(registry.tasks.map(({ run }) => run()).sort()).toEqual([1, 'three', 'two'])
  })

  test('leaves the default export of an ES module alone', async () => {
    expect((await load([fixture('settings.js')])).names).toEqual(['task'])
  })

  test('refuses two tasks of one name, naming both modules', async () => {
    const failure = await failureOf(load([fixture('kinds.js'), fixture('twin.js')]))
    expect(failure.module).toMatch(/twin\.js$/)
    expect(failure.cause).toMatchObject({ message: expect.stringMatching(/'arrow'.*kinds\.js.*twin\.js/) })
  })

  test('names the module that failed, and marks it as loading meanwhile', async () => {
    const failure = await failureOf(load([fixture('kinds.js'), fixture('throws.js')]))
    expect(failure.module).toMatch(/throws\.js$/)
    expect(failure.cause).toMatchObject({ name: 'RangeError', message: 'cannot be loaded' })
    expect((globalThis as { seenWhileLoading?: string }).seenWhileLoading).toMatch(/throws\.js$/)
    expect((await failureOf(load([fixture('none.js')]))).cause).toMatchObject({ code: expect.stringContaining('NOT_FOUND') })
    loaded()
    expect(Object.getOwnPropertySymbols(globalThis)).not.toContain(Symbol.for('prefork.loading'))
  })

  test('announces the options of defineTask', async () => {
    const { arrow } = (await import(fixture('kinds.js'))) as { arrow: () => string }
    defineTask({ timeLimit: 50, retryLost: 2 }, arrow)
    const registry = await load([fixture('kinds.js')])
    expect(registry.infos().find(({ name }) => name === 'arrow')).toEqual({ name: 'arrow', timeLimit: 50, retryLost: 2 })
  })
})

test('start hooks run in order; a failure is a failed start', async () => {
  const { start } = workerState()
  const seen: number[] = []
  start.push(
    async () => {
      await null
      seen.push(1)
    },
    () => seen.push(2),
  )
  await runStartHooks([fixture('kinds.js')])
  expect(seen).toEqual([1, 2])
  start.push(() => Promise.reject(new Error('no database')))
  const failure = await failureOf(runStartHooks([fixture('kinds.js')]))
  expect(failure).toMatchObject({ module: expect.stringMatching(/kinds\.js$/), cause: { message: 'no database' } })
  start.length = 0
})
