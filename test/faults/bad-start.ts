import { createPool, type PoolOptions, WorkerStartError } from 'prefork'
import { expect, it } from 'vitest'
import { fixture, optionsOf } from '../fixtures/pools.js'
import { childrenOf, failure, Journal, until } from '../fixtures/support.js'

export const refused = async (options: Partial<PoolOptions>): Promise<WorkerStartError> => {
  const creation = createPool(optionsOf(options))
  creation.then((pool) => pool.terminate()).catch(() => {})
  return (await failure(creation)) as WorkerStartError
}

export const withStarts = (name: string, options: Partial<PoolOptions> = {}) => {
  const starts = new Journal()
  return { starts, options: { tasks: fixture(`starts/${name}`), env: { ...process.env, PREFORK_TEST_STARTS: starts.path }, ...options } }
}

export const nothingLeft = async (): Promise<void> => {
  await until('no process is left', () => childrenOf(process.pid).length === 0, 5_000)
}

/** Tests modules that never finish loading. */
export const neverLoaded = (names: readonly string[]): void => {
  it.each(names)('that never finishes (%s): rejected after three starts, and nothing is left', async (name) => {
    const { starts, options } = withStarts(name, { aliveTimeout: 250 })
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.message).toContain(name)
    expect(error.message).toContain('3 starts failed')
    expect(error.cause).toMatchObject({
      code: 'ERR_PREFORK_START_TIMEOUT',
      message: expect.stringMatching(
        /^(The (process had not begun to load the tasks|task modules and start hooks had not finished) within \d+ ms\.|\S+ had not loaded within \d+ ms: it was executing .+) The option 'aliveTimeout' is 250 ms(; this start had \d+ times as long)?\.$/,
      ),
    })
    // On a busy machine the start timeout may pass before the module writes its first line.
    expect(starts.lines.length).toBeGreaterThanOrEqual(1)
    expect(starts.lines.length).toBeLessThanOrEqual(3)
    await nothingLeft()
  })
}
