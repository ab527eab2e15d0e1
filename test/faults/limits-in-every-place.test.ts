import { SoftTimeLimitError, TimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, Gate, Journal, within } from '../fixtures/support.js'

const NO_STACK = 'not executing JavaScript (awaiting or in native code)'
const LIMIT = 200

/** Place, whether the worker may go on after a soft limit, what the stack shows. */
const PLACES: [string, boolean, string][] = [
  ['sync', true, 'spinHere'],
  ['beforeAwait', true, 'spinHere'],
  ['inListener', true, 'spinHere'],
  ['regexp', true, 'regexp'],
  ['afterAwait', false, 'spinHere'],
  ['afterTimerAwait', false, 'spinHere'],
  ['afterAwaitWithStorage', false, 'spinHere'],
  ['inTimer', false, 'spinHere'],
  ['inTick', false, 'spinHere'],
  ['inImmediate', false, 'spinHere'],
  ['inAsyncScope', false, 'spinHere'],
  ['execChild', false, NO_STACK],
  ['pbkdf2', false, NO_STACK],
]

/** Where the task is interrupted in place there is all the time for it; elsewhere it is the grace that passes. */
const poolWith = (concurrency: number, livesOn = false, cancelGrace = livesOn ? 5_000 : 300) =>
  startPool({ tasks: fixture('places.js'), concurrency, dispatch: 'fast', cancelGrace })

describe.each([1, 4])('with concurrency %i', (concurrency) => {
  it.each(PLACES)('a soft limit ends a task that never yields: %s; the worker goes on: %s', async (place, livesOn, stack) => {
    const pool = await poolWith(concurrency, livesOn)
    const before = await pidOf(pool)
    const journal = new Journal()
    const gate = new Gate()
    const neighbours = concurrency > 1 ? [1, 2].map(() => pool.submit('patient', [gate.path])) : []
    const job = pool.submit(place, [journal.path], { softTimeLimit: LIMIT })
    const behind = concurrency === 1 ? pool.submit('pid', []) : undefined
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(SoftTimeLimitError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_SOFT_TIME_LIMIT', limit: LIMIT })
    expect((error as SoftTimeLimitError).taskStack).toContain(stack)
    expect(job).toMatchObject({ state: 'failed', accepted: true, softTimedOut: true })
    expect(journal.lines).toEqual(['there'])
    // What stood behind it had not begun, and runs wherever a worker is.
    if (behind) expect((await within(behind.result, 10_000)) === before).toBe(livesOn)
    expect((await within(pidOf(pool), 10_000)) === before).toBe(livesOn)
    gate.open()
    for (const neighbour of neighbours) {
      if (livesOn) expect(await within(neighbour.result, 5_000)).toBe('patient')
      else await within(neighbour.result, 10_000).catch((lost: unknown) => expect(lost).toMatchObject({ name: 'WorkerLostError', accepted: true }))
    }
  })
})

describe('a hard limit', () => {
  it.each([...PLACES, ['idle', false, NO_STACK] as [string, boolean, string]])('ends the worker: %s', async (place, _, stack) => {
    const pool = await poolWith(1, false, 5_000)
    const before = await pidOf(pool)
    const journal = new Journal()
    const job = pool.submit(place, [journal.path], { timeLimit: LIMIT })
    const behind = pool.submit('pid', [])
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(TimeLimitError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_TIME_LIMIT', limit: LIMIT })
    expect((error as TimeLimitError).taskStack).toContain(stack)
    expect(job).toMatchObject({ state: 'failed', accepted: true, softTimedOut: false })
    expect(await within(behind.result, 10_000)).not.toBe(before)
    expect(journal.lines).toEqual(['there'])
  })

  it('takes concurrent neighbours with the worker, each settled as lost', async () => {
    const pool = await poolWith(4)
    const gate = new Gate()
    const journal = new Journal()
    const neighbours = [1, 2, 3].map(() => pool.submit('patient', [gate.path]))
    expect(await failure(pool.run('inTimer', [journal.path], { timeLimit: LIMIT }))).toBeInstanceOf(TimeLimitError)
    for (const neighbour of neighbours) expect(await failure(neighbour.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})

describe("a limit that passes in another job's code", () => {
  it('soft: the job that waits rejects, the one that loops is not interrupted in its stead', async () => {
    const pool = await poolWith(4)
    const journal = new Journal()
    const before = await pidOf(pool)
    const waiting = pool.submit('awaiting', [journal.path], { softTimeLimit: 300 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path])
    const error = await failure(waiting.result)
    expect(error).toBeInstanceOf(SoftTimeLimitError)
    expect(await failure(looping.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await pidOf(pool)).not.toBe(before)
  })

  it('soft, both limited: each is answered with its own limit', async () => {
    const pool = await poolWith(4, true, 800)
    const journal = new Journal()
    const waiting = pool.submit('awaiting', [journal.path], { softTimeLimit: 400 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path], { softTimeLimit: 150 })
    expect(await failure(looping.result)).toMatchObject({ name: 'SoftTimeLimitError', limit: 150 })
    expect(await failure(waiting.result)).toMatchObject({ name: 'SoftTimeLimitError', limit: 400 })
  })

  it('hard: ends the worker, and only the limited job is called timed out', async () => {
    const pool = await poolWith(4)
    const journal = new Journal()
    const waiting = pool.submit('awaiting', [journal.path], { timeLimit: 300 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path])
    expect(await failure(waiting.result)).toMatchObject({ name: 'TimeLimitError', limit: 300 })
    expect(await failure(looping.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})

it('an interrupted task leaves nothing of its AsyncLocalStorage to the next job', async () => {
  const pool = await poolWith(1, true)
  const journal = new Journal()
  expect(await failure(pool.run('inStorage', [journal.path], { softTimeLimit: LIMIT }))).toMatchObject({ name: 'SoftTimeLimitError' })
  expect(await pool.run('store', [])).toBeNull()
})
