/** Hostile values in a real pool: a value that is too deep or forged costs that job and at most its worker. */
import { PreforkError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { FLAG_ERROR, Kind } from '../../src/wire/messages.js'
import { fixture, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { within } from '../fixtures/support.js'
import { entries } from './corpus.js'
import { depthOf, nest } from './nesting.js'
import { snapshotSharedState } from './shared-state.js'

const tasks = fixture('nesting.js')

/** The value, or an error of the codec; any other error fails the test. */
const valueOrCodecError = async (result: Promise<unknown>): Promise<unknown> => {
  try {
    return await within(result, 20_000)
  } catch (error) {
    expect((error as Error).message).toMatch(/nested too deeply|call stack|cannot be (en|de)coded/)
    return error
  }
}

/** A worker with a larger stack than the host's can send values that the host cannot decode. */
describe.each([
  [984, { arrays: [1_000, 10_000, 100_000, 1_000_000], objects: [3_000, 100_000], maps: [1_000, 30_000] }],
  [3_900, { arrays: [3_000, 5_000, 8_000, 20_000], objects: [5_000, 10_000], maps: [5_000, 8_000] }],
] as const)('promise 7: a nested value, in a worker with a stack of %i KB', (stack, depths) => {
  const deep = sharedPool({ tasks, concurrency: 2, execArgv: [`--stack-size=${stack}`] })

  it.each(Object.entries(depths))('arrives or fails that job alone: %s', async (kind, depthsOfKind) => {
    const { pool } = deep
    const pid = await pidOf(pool)
    for (const depth of depthsOfKind) {
      const value = nest(depth, kind)
      const [argument, result] = await Promise.all([valueOrCodecError(pool.run('depthOf', [value])), valueOrCodecError(pool.run('nest', [depth, kind]))])
      expect(argument instanceof PreforkError || argument === depth, `argument: ${depth}`).toBe(true)
      expect(result instanceof PreforkError || depthOf(result) === depth, `result: ${depth}`).toBe(true)
      const item = await valueOrCodecError(pool.stream('items', [[depth], kind]).next())
      expect(item instanceof PreforkError || depthOf((item as { value: unknown }).value) === depth, `item: ${depth}`).toBe(true)
      const progress = await valueOrCodecError(pool.run('reported', [depth, kind]))
      expect(progress instanceof PreforkError || progress === 'reported', `progress: ${depth}`).toBe(true)
      const error: unknown = await pool.run('thrown', [depth, kind]).catch((reason) => reason)
      expect(error, `error: ${depth}`).toMatchObject({ message: expect.stringMatching(/thrown|nested|decoded/) })
    }
    expect(await pidOf(pool), 'a job that could not be read has cost the worker its life').toBe(pid)
    expect(pool.stats().totals.workersDied).toBe(0)
  })
})

const FORGED = [
  'arrays nested 10^5',
  'arrays that each claim what is left',
  '__proto__ as a key',
  'records whose key is code',
  "a blob by a method's name",
  'an ArrayBuffer that may grow to 4 GiB',
  'v8: sparse arrays of 30 million, nested',
  'v8: dense arrays that each claim what is left',
  'v8: a SharedArrayBuffer',
  'v8: a record of __proto__',
]

describe('promise 7: a frame that a task forges', () => {
  // Each worker runs one job: its delivery number is 1, which the forged frame names.
  const forgers = sharedPool({ tasks, workers: 2, maxJobsPerWorker: 1 })
  const corpus = new Map(entries('values'))

  it.each(FORGED)('as its own result costs that job alone: %s', async (name) => {
    const { pool } = forgers
    const changedState = snapshotSharedState()
    const neighbour = pool.run('nest', [1])
    const kind = Kind.READY
    const outcome: unknown = await within(
      pool.run('forge', [kind, 1, corpus.get(name)!]).catch((error) => error),
      15_000,
    )
    expect(outcome).not.toBe('the truth')
    expect(await neighbour).toEqual([0])
    expect(changedState()).toEqual([])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('as an announcement, a log line or the answer of an unknown job ends that worker alone', async () => {
    const pool = await startPool({ tasks, workers: 2 })
    const junk = corpus.get('v8: dense arrays that each claim what is left')!
    for (const [kind, delivery] of [
      [Kind.LOG, 0],
      [Kind.FAULT, 0],
      [Kind.LOADED, 0],
      [Kind.WORKER_UP, 0],
      [Kind.READY, 0xffff],
      [FLAG_ERROR, 1],
    ] as const) {
      const neighbour = pool.run('nest', [1])
      const error: unknown = await within(
        pool.run('forge', [kind, delivery, junk]).catch((reason) => reason),
        15_000,
      )
      expect(error, `kind ${kind}`).toMatchObject({ name: 'WorkerLostError', reason: 'protocol' })
      expect(await neighbour).toEqual([0])
    }
  })
})
