import { expect, it } from 'vitest'
import { UsageError } from '../../native-bench/lib/args.js'
import { readScalingArgs } from '../../native-bench/scaling/args.js'
import { BROKERS } from '../../native-bench/scaling/brokers.js'
import { CASES } from '../../native-bench/scaling/cases/index.js'
import { ratiosOf, scalingTable } from '../../native-bench/scaling/report.js'
import { longestWait } from '../../native-bench/scaling/stamps.js'
import type { ScalingCase, Subject } from '../../native-bench/scaling/types.js'

const read = (...args: string[]) => readScalingArgs(args, CASES)

it('measures every variant of every case by default, the smoke the main ones', () => {
  const all = Object.entries(CASES).map(([name, { variants }]) => [name, Object.keys(variants)])
  expect(read()).toEqual({ size: 'full', rounds: 5, cases: all, help: false })
  const smoke = read('--smoke', '--rounds', '2', '--against', 'other', '--json', 'a.json')
  expect(smoke).toMatchObject({ size: 'smoke', rounds: 2, against: 'other', json: 'a.json' })
  expect(smoke.cases.map(([name]) => name)).toEqual(Object.keys(CASES))
  expect(smoke.cases[0]).toEqual(['spread', ['quorum', 'file', 'faktory']])
})

it('measures the named cases and variants', () => {
  expect(read('--only', 'noop/file, fair').cases).toEqual([
    ['noop', ['file']],
    ['fair', ['quorum', 'file', 'faktory']],
  ])
  expect(read('--smoke', '--only', 'spread/levels').cases).toEqual([['spread', ['levels']]])
})

it.each([
  [['--only', 'sprad'], /no 'sprad'.*spread \(quorum, file/],
  [['--only', 'noop/levels'], /no 'noop\/levels'/],
  [['--only', ''], /no ''/],
  [['--rounds', '0'], /whole number/],
  [['--agains', 'x'], /npm run bench:scaling/],
])('refuses %j', (args, text) => {
  expect(() => read(...args)).toThrow(UsageError)
  expect(() => read(...args)).toThrow(text)
})

it('each variant has a broker, and each ratio a metric', () => {
  for (const { variants, metrics, ratio } of Object.values(CASES)) {
    for (const { broker } of Object.values(variants)) expect(Object.keys(BROKERS)).toContain(broker)
    if (ratio !== undefined) expect(Object.keys(metrics)).toContain(ratio)
  }
})

it('the longest wait is the longest overlap of a wait with the time in which one worker ran nothing', () => {
  const long = { n: 0, pid: 1, began: 100, ended: 1_100 }
  const behind = { n: 1, pid: 1, began: 1_101, ended: 1_111 }
  const beside = { n: 2, pid: 2, began: 102, ended: 302 }
  const isShort = ({ n }: { n: number }) => n !== 0
  // Worker 2 was free from 302 on.
  expect(longestWait([behind, long, beside], [1, 2], 90, isShort)).toBe(799)
  // It ran one job after the other, with a pause of 3 ms.
  expect(longestWait([long, behind, beside, { n: 3, pid: 2, began: 305, ended: 1_200 }], [1, 2], 90, isShort)).toBe(12)
  // A worker that never ran a job was free all the time.
  expect(longestWait([long, behind], [1, 3], 90, isShort)).toBe(1_011)
  expect(longestWait([long], [1], 90, isShort)).toBe(0)
})

const shape: ScalingCase = {
  title: 'T',
  about: 'A',
  variants: { a: { title: 'first', broker: 'file' }, b: { title: 'second', broker: 'quorum' }, c: { title: 'third', broker: 'faktory' } },
  metrics: { ms: { title: 'time', unit: 'ms', digits: 0, better: 'less' } },
  ratio: 'ms',
  timeout: 1,
  measure: async () => ({}),
}
const subject = (title: string): Subject => ({ title, dist: 'dist', options: () => ({}) })

it('a table has the ratios of each round and their median, and the reasons of what is missing', () => {
  const defaults = { rounds: [{ ms: 30 }, { ms: 40 }, { ms: 90 }] }
  const fixed = { rounds: [{ ms: 10 }, { ms: 10 }, { ms: 10 }] }
  expect(ratiosOf(defaults, fixed, 'ms')).toEqual([3, 4, 9])
  expect(ratiosOf(defaults, { reason: 'it broke' }, 'ms')).toEqual([])
  const down = { reason: 'no server' }
  const cells = { a: { defaults, fixed }, b: { defaults: { rounds: [] }, fixed: { reason: 'it broke' } }, c: { defaults: down, fixed: down } }
  const text = scalingTable(shape, cells, { defaults: subject('defaults'), fixed: subject('four workers') })
  expect(text).toMatch(/\| first +\| defaults +\| 40 \(30 to 90\) +\| +\| +\|/)
  expect(text).toMatch(/\| first +\| four workers +\| 10 \(10 to 10\) +\| 4\.00 +\| 3\.00, 4\.00, 9\.00 +\|/)
  expect(text).not.toMatch(/\| (second|third)/)
  expect(text.split('\n').filter((line) => line.startsWith('- no figure'))).toEqual([
    '- no figure: second, four workers: it broke',
    '- no figure: third: no server',
  ])
})
