/** Hostile values in a real pool: what is too deep, and what a task forges, costs that job and at the most its worker. */
import { PreforkError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { FLAG_ERROR, Kind } from '../../src/wire/messages.js'
import { fixture, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { within } from '../fixtures/support.js'
import { entries } from './corpus.js'
import { depthOf, nest } from './nesting.js'
import { watchShared } from './untouched.js'

const tasks = fixture('nesting.js')

/** The value, or an error that says what is wrong with it; nothing else. */
const fair = async (result: Promise<unknown>): Promise<unknown> => {
  try {
    return await within(result, 20_000)
  } catch (error) {
    expect((error as Error).message).toMatch(/nested too deeply|call stack|cannot be (en|de)coded/)
    return error
  }
}

/** A worker whose stack is larger than the host's can send what the host cannot read. */
describe.each([
  [984, { arrays: [1_000, 10_000, 100_000, 1_000_000], objects: [3_000, 100_000], maps: [1_000, 30_000] }],
  [3_900, { arrays: [3_000, 5_000, 8_000, 20_000], objects: [5_000, 10_000], maps: [5_000, 8_000] }],
] as const)('what is nested, in a worker with a stack of %i KB', (stack, depths) => {
  const deep = sharedPool({ tasks, concurrency: 2, execArgv: [`--stack-size=${stack}`] })

  it.each(Object.entries(depths))("arrives, or is that job's error alone: %s", async (kind, depthsOfKind) => {
    const { pool } = deep
    const pid = await pidOf(pool)
    for (const depth of depthsOfKind) {
      const value = nest(depth, kind)
      const [argument, result] = await Promise.all([fair(pool.run('depthOf', [value])), fair(pool.run('nest', [depth, kind]))])
      expect(argument instanceof PreforkError || argument === depth, `argument: ${depth}`).toBe(true)
      expect(result instanceof PreforkError || depthOf(result) === depth, `result: ${depth}`).toBe(true)
      const item = await fair(pool.stream('items', [[depth], kind]).next())
      expect(item instanceof PreforkError || depthOf((item as { value: unknown }).value) === depth, `item: ${depth}`).toBe(true)
      const progress = await fair(pool.run('reported', [depth, kind]))
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

describe('what a task forges', () => {
  // One job each: its delivery is the first, which is what the forger must name.
  const forgers = sharedPool({ tasks, workers: 2, maxJobsPerWorker: 1 })
  const corpus = new Map(entries('values'))

  it.each(FORGED)('as its own result: %s', async (name) => {
    const { pool } = forgers
    const touched = watchShared()
    const neighbour = pool.run('nest', [1])
    const kind = Kind.READY
    const outcome: unknown = await within(
      pool.run('forge', [kind, 1, corpus.get(name)!]).catch((error) => error),
      15_000,
    )
    expect(outcome).not.toBe('the truth')
    expect(await neighbour).toEqual([0])
    expect(touched()).toEqual([])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('as an announcement, a line of its log, or the answer of nobody: it is ended, and nobody else', async () => {
    const pool = await startPool({ tasks, workers: 2 })
    const junk = corpus.get('v8: dense arrays that each claim what is left')!
    for (const [kind, delivery] of [
      [Kind.LOG, 0],
      [Kind.FAULT, 0],
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
