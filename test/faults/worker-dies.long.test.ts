import { describe, expect, it } from 'vitest'
import { startPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'
import { deaths, OFTEN } from './worker-dies.js'

describe('promises 1, 3: a worker that dies during a job', () => {
  deaths((how) => !OFTEN.includes(how))

  it('of an exhausted heap while it decodes arguments loses the accepted job alone', async () => {
    const pool = await startPool({ execArgv: ['--max-old-space-size=24'], dispatch: 'fast' })
    const large = Array.from({ length: 10_000 }, (_, index) => String(index).repeat(1_000))
    const culprit = pool.submit('echo', [large])
    const next = pool.submit('echo', ['small'])
    expect(await failure(culprit.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await next.result).toBe('small')
  })
})
