import { describe, expect, test } from 'vitest'
import { StartRecord } from '../../../src/pool/fleet/start-record.js'

describe('the record of starts', () => {
  test('the first job delays the second start, the first time a worker comes up', () => {
    const starts = new StartRecord()
    expect(starts.settled()).toBe(false)
    starts.up(1_000, 100)
    expect(starts.firstJobUntil).toBe(1_020)
    expect([starts.settled(), starts.firstJobUntil]).toEqual([true, 0])
    starts.up(2_000, 100)
    expect([starts.settled(), starts.firstJobUntil]).toEqual([false, 0])
  })

  test('each failure delays the next start for longer, until a job is accepted', () => {
    const starts = new StartRecord()
    const waits = [1, 2, 3].map(() => {
      starts.failed(0, true, false)
      return starts.notBefore
    })
    expect(waits).toEqual([100, 200, 400])
    expect([starts.jobAccepted(), starts.notBefore]).toEqual([true, 0])
    expect(starts.jobAccepted()).toBe(false)
  })

  test('the circuit breaker opens after three failures in a row, after ten where the modules are not at fault', () => {
    const failing = (modulesNotAtFault: boolean): number => {
      const starts = new StartRecord()
      let count = 0
      while (!starts.broken) {
        starts.failed(0, modulesNotAtFault, false)
        count++
      }
      return count
    }
    expect([failing(false), failing(true)]).toEqual([3, 10])
  })

  test('the start after a timeout gets more time', () => {
    const starts = new StartRecord()
    for (let i = 0; i < 5; i++) starts.failed(0, false, true)
    expect(starts.timeoutFactor).toBe(8)
    starts.up(0, 100)
    expect(starts.timeoutFactor).toBe(1)
  })
})
