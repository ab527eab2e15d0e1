import type { Cell, Results } from '../../native-bench/types.js'

/** A cell with the same figures in all rounds. */
export const cell = (metrics: Record<string, number>): Cell => ({
  metrics: Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, { median: value, least: value, most: value, rounds: 1 }])),
})

/** No-ops of two workers, 128 outstanding. */
export const noopResults = (perSecond: Record<string, number>): Results => ({
  noop: { '2w-128': Object.fromEntries(Object.entries(perSecond).map(([pool, value]) => [pool, cell({ perSecond: value, hostMicros: 3 })])) },
})
