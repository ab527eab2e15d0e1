import { describe, expect, it } from 'vitest'
import { type MeasuredJob, RunTimes, TaskRuns } from '../../../src/runtime/collections/run-times.js'

const measured = (times: readonly number[]): TaskRuns => {
  const runs = new TaskRuns()
  for (const ms of times) runs.ended(ms)
  return runs
}

describe('the runs of one task', () => {
  it('have a mean and a 95th percentile', () => {
    expect([new TaskRuns().mean, new TaskRuns().p95]).toEqual([undefined, undefined])
    expect([measured([7]).mean, measured([7]).p95]).toEqual([7, 7])
    const runs = measured([100, ...Array(19).fill(10)])
    expect([runs.mean, runs.p95]).toEqual([14.5, 10])
    expect(measured([100, 100, ...Array(18).fill(10)]).p95).toBe(100)
  })

  it('are the newest ones', () => {
    const runs = measured([...Array(40).fill(1_000), ...Array(32).fill(2)])
    expect([runs.mean, runs.p95]).toEqual([2, 2])
  })

  it('tell of the first measurement alone', () => {
    const runs = new TaskRuns()
    expect([runs.ended(1), runs.ended(1)]).toEqual([true, false])
  })
})

describe('the run times of a node', () => {
  const job = (name: string): MeasuredJob => ({ name, runs: undefined, runsSince: 0 })

  it('are kept by task, and know what runs and what began lately', () => {
    const noted: string[] = []
    const times = new RunTimes(() => noted.push('measured'))
    const [first, second] = [job('a'), job('b')]
    times.began(first)
    const since = times.lastBegan!
    times.began(second)
    times.ended(second)
    times.ended(second)
    expect(times.mean('a')).toBeUndefined()
    expect(times.mean('b')).toBeGreaterThanOrEqual(0)
    expect(noted).toEqual(['measured'])
    // One runs, and the other began before that time.
    expect(times.since(Number.POSITIVE_INFINITY)).toEqual([expect.objectContaining({ running: 1 })])
    expect(times.since(since)).toHaveLength(2)
    times.ended(first)
    expect(times.since(Number.POSITIVE_INFINITY)).toEqual([])
    expect(times.all.mean).toBeGreaterThanOrEqual(0)
  })
})
