import { describe, expect, it } from 'vitest'
import { UsageError } from '../../native-bench/lib/args.js'
import { readQueueArgs } from '../../native-bench/queue/args.js'
import { diskProblem } from '../../native-bench/queue/disk.js'
import { evaluateGoals, GOALS } from '../../native-bench/queue/goals.js'
import { caseTable, goalsTable } from '../../native-bench/queue/report.js'
import { cell } from './results.js'

const CASES = ['drain', 'idle']
const PEERS = ['bullmq', 'pg-boss']
const read = (...args: string[]) => readQueueArgs(args, CASES, PEERS)

describe('the command line of the queue benchmark', () => {
  it('measures every case with every peer by default, the smoke without peers', () => {
    expect(read()).toMatchObject({ size: 'short', rounds: 1, cases: CASES, peers: PEERS })
    expect(read('--full')).toMatchObject({ size: 'full', rounds: 5 })
    expect(read('--smoke')).toMatchObject({ size: 'smoke', rounds: 1, peers: [] })
    expect(read('--only', 'idle', '--peers', 'none', '--rounds', '3')).toMatchObject({ rounds: 3, cases: ['idle'], peers: [] })
  })

  it.each([
    [['--only', 'drian'], /drain, idle/],
    [['--peers', 'bull'], /bullmq, pg-boss/],
    [['--rounds', '0'], /whole number/],
    [['--full', '--smoke'], /both/],
    [['--ful'], /npm run bench:queue/],
  ])('refuses %j', (args, text) => {
    expect(() => read(...args)).toThrow(UsageError)
    expect(() => read(...args)).toThrow(text)
  })
})

it('a disk that is memory, or too slow, is named', () => {
  expect(diskProblem(0.01)).toContain('memory')
  expect(diskProblem(20)).toContain('too slow')
  expect([0.2, 1, 10].map(diskProblem)).toEqual([undefined, undefined, undefined])
})

describe('the goals of the queue', () => {
  const results = {
    drain: { single: cell({ perSecond: 1_000 }), 'store-64': cell({ perSecond: 16_000 }), 'node-64': cell({ perSecond: 4_000, main: 50 }) },
  }

  it('compare the variants, and leave out what has no figure', () => {
    const found = evaluateGoals(results, true).map(({ value, met }) => [value, met])
    expect(found).toEqual([
      [16, true],
      [4, false],
      [0.25, false],
      [50, false],
    ])
    expect(evaluateGoals({ drain: { single: { reason: 'it broke' } } }, true)).toEqual([])
  })

  it('say nothing of commits without a disk', () => {
    expect(evaluateGoals(results, false).map(({ met }) => met)).toEqual([undefined, undefined, false, false])
    expect(goalsTable(evaluateGoals(results, false))).toContain('not on this disk')
  })

  it('have unique texts', () => {
    expect(new Set(GOALS.map(({ text }) => text)).size).toBe(GOALS.length)
  })
})

it('a table has a row for each variant with figures, and the reasons of the others', () => {
  const shape = {
    title: 'T',
    about: 'A',
    timeout: 1,
    variants: { a: { title: 'first', measure: async () => ({}) }, b: { title: 'second', measure: async () => ({}) } },
    metrics: { perSecond: { title: 'jobs', unit: '/s', digits: 0, better: 'more' as const } },
  }
  const text = caseTable(shape, { a: cell({ perSecond: 1_234 }), b: { reason: 'it broke' } })
  expect(text).toMatch(/\| first \| 1,234 +\|/)
  expect(text).toContain('- no figure: second: it broke')
})
