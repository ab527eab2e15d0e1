import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { dueTicks, nextTick, readableTicks, sameTiming } from '../../../src/queue/schedules/ticks.js'

const at = (text: string): number => Date.parse(text)
const shown = (ticks: readonly (number | undefined)[]): string[] => ticks.map((tick) => new Date(tick!).toISOString().slice(5, 16))

/** The first `count` ticks after a moment. */
const ticksAfter = (timing: Parameters<typeof nextTick>[0], after: string, count: number): string[] => {
  const ticks: number[] = [at(after)]
  while (ticks.length <= count) ticks.push(nextTick(timing, ticks.at(-1)!)!)
  return shown(ticks.slice(1))
}

describe('nextTick', () => {
  it('is one interval later with `every`', () => {
    expect(nextTick({ every: 250 }, 1_000)).toBe(1_250)
  })

  it('follows the clock of a time zone', () => {
    expect(ticksAfter({ cron: '30 9 * * *', timeZone: 'Asia/Kolkata' }, '2026-05-01T00:00:00Z', 2)).toEqual(['05-01T04:00', '05-02T04:00'])
  })

  it('runs once on the day on which the clock skips its hour', () => {
    // 02:30 does not exist on March 29: it runs at 03:00.
    expect(ticksAfter({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }, '2026-03-28T00:00:00Z', 3)).toEqual(['03-28T01:30', '03-29T01:00', '03-30T00:30'])
  })

  it('runs once on the day on which the clock repeats its hour', () => {
    expect(ticksAfter({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }, '2026-10-24T00:00:00Z', 3)).toEqual(['10-24T00:30', '10-25T00:30', '10-26T01:30'])
  })

  it('ends with a pattern that has no more ticks', () => {
    expect(nextTick({ cron: '0 0 30 2 *' }, 0)).toBeUndefined()
  })

  it('refuses what it cannot read', () => {
    expect(() => nextTick({ cron: 'nope' }, 0)).toThrow(TypeError)
    expect(() => nextTick({ cron: '* * * * *', timeZone: 'Mars/Base' }, 0)).toThrow(TypeError)
  })
})

describe('dueTicks', () => {
  const every = { every: 100 }

  it('has none before the tick', () => {
    expect(dueTicks({ ...every, catchUp: 'all' }, 1_000, 999)).toEqual({ ticks: [], nextAt: 1_000 })
  })

  it.each(['one', 'none', 'all'] as const)('has the tick that is due, without drift (%s)', (catchUp) => {
    expect(dueTicks({ ...every, catchUp }, 1_000, 1_040)).toEqual({ ticks: [1_000], nextAt: 1_100 })
  })

  it('runs of missed ticks the last one, none, or all', () => {
    expect(dueTicks({ every: 2_000, catchUp: 'one' }, 10_000, 15_500)).toEqual({ ticks: [14_000], nextAt: 16_000 })
    expect(dueTicks({ every: 2_000, catchUp: 'none' }, 10_000, 15_500)).toEqual({ ticks: [], nextAt: 16_000 })
    expect(dueTicks({ every: 2_000, catchUp: 'none' }, 10_000, 14_900)).toEqual({ ticks: [14_000], nextAt: 16_000 })
    expect(dueTicks({ every: 2_000, catchUp: 'all' }, 10_000, 15_500)).toEqual({ ticks: [10_000, 12_000, 14_000], nextAt: 16_000 })
  })

  it('returns at most so many at once', () => {
    expect(dueTicks({ ...every, catchUp: 'all' }, 1_000, 2_000, 2)).toEqual({ ticks: [1_000, 1_100], nextAt: 1_200 })
  })

  it('finds the last tick of a pattern without walking over the others', () => {
    const cron = { cron: '* * * * * *', timeZone: 'UTC' } as const
    const year = at('2027-01-01T00:00:00.500Z')
    expect(dueTicks({ ...cron, catchUp: 'one' }, at('2026-01-01T00:00:00Z'), year)).toEqual({ ticks: [year - 500], nextAt: year + 500 })
    expect(dueTicks({ ...cron, catchUp: 'one' }, year - 500, year - 500)).toEqual({ ticks: [year - 500], nextAt: year + 500 })
  })
})

it('tells the same timing from another', () => {
  expect(sameTiming({ every: 5 }, { every: 5 })).toBe(true)
  expect(sameTiming({ cron: '* * * * *', timeZone: 'UTC' }, { cron: '* * * * *' })).toBe(false)
})

it('a schedule that cannot be read stops with a warning', async () => {
  const warned = once(process, 'warning')
  expect(readableTicks("'k' of 'q'", { cron: 'nonsense', catchUp: 'one' }, 0, 1)).toEqual({ ticks: [], nextAt: undefined })
  const [{ message }] = (await warned) as [Error]
  expect(message).toMatch(/^The schedule 'k' of 'q' cannot be read, and has stopped: .*[^.]\. Store it again\.$/)
})
