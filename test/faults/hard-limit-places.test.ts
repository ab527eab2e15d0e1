import { TimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { LIMIT, NO_STACK, PATIENT, PLACES } from '../fixtures/places-list.js'
import { pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Gate, Journal, within } from '../fixtures/support.js'

describe('promise 5: a hard limit', () => {
  const shared = sharedPool(PATIENT)

  it.each([...PLACES, ['idle', false, NO_STACK] as const])('ends the worker: %s', async (place, _, stack) => {
    const before = await pidOf(shared.pool)
    const journal = new Journal()
    const job = shared.pool.submit(place, [journal.path], { timeLimit: LIMIT })
    const behind = shared.pool.submit('pid', [])
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(TimeLimitError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_TIME_LIMIT', limit: LIMIT })
    expect((error as TimeLimitError).taskStack).toContain(stack)
    expect(job).toMatchObject({ state: 'failed', accepted: true, softTimedOut: false })
    expect(await within(behind.result, 10_000)).not.toBe(before)
    expect(journal.lines).toEqual(['there'])
  })

  it('takes concurrent neighbours with the worker, each settled as lost', async () => {
    const pool = await startPool({ ...PATIENT, concurrency: 4 })
    const gate = new Gate()
    const journal = new Journal()
    const neighbours = [1, 2, 3].map(() => pool.submit('patient', [gate.path]))
    expect(await failure(pool.run('inTimer', [journal.path], { timeLimit: LIMIT }))).toBeInstanceOf(TimeLimitError)
    for (const neighbour of neighbours) expect(await failure(neighbour.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})
