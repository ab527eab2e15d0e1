import { expect, it } from 'vitest'
import { CASES } from '../../native-bench/cases/index.js'
import { readArgs } from '../../native-bench/lib/args.js'
import { SHOWN } from '../../native-bench/lib/page-tables.js'
import { runAll } from '../../native-bench/lib/run.js'
import type { Case, PoolEntry } from '../../native-bench/types.js'

const pools: Record<string, PoolEntry> = {
  a: { title: 'A', kind: 'prefork', configuration: '-' },
  b: { title: 'B', kind: 'threads', configuration: '-' },
  c: { title: 'C', kind: 'processes', configuration: '-' },
  f: { title: 'F', kind: 'floor', configuration: '-' },
}
const some: Case = {
  name: 'some',
  title: 'Some',
  about: '',
  metrics: { ms: { title: 'time', unit: 'ms', digits: 0, better: 'less' } },
  variants: [
    { key: 'one', title: 'one', quick: true },
    { key: 'two', title: 'two', maxRounds: 1 },
  ],
  measure: async () => ({}),
}
const cases = { some }
const wanted = (...args: string[]) => readArgs(args, ['some'], pools)

it('measures all pools in turn, round by round', async () => {
  const asked: string[] = []
  const results = await runAll(
    wanted('--rounds', '2'),
    cases,
    pools,
    async (args: string[]) => {
      asked.push(args.join(' '))
      return { metrics: { ms: asked.length } }
    },
    () => {},
  )
  expect(asked).toEqual([...['a', 'b', 'c', 'a', 'b', 'c'].map((pool) => `some one ${pool}`), ...['a', 'b', 'c'].map((pool) => `some two ${pool}`)])
  expect(results.some!.one!.a).toEqual({ metrics: { ms: { median: 2.5, least: 1, most: 4, rounds: 2 } } })
})

it('measures the quick variants alone with --quick, and passes the flag on', async () => {
  const asked: string[][] = []
  await runAll(
    wanted('--quick'),
    cases,
    pools,
    async (args: string[]) => {
      asked.push(args)
      return { metrics: { ms: 1 } }
    },
    () => {},
  )
  expect(asked).toEqual(['a', 'b', 'c'].map((pool) => ['some', 'one', pool, 'quick']))
})

it('measures what the page shows with --quick --all: some variants in each round, others once, and with some pools', async () => {
  const asked: string[] = []
  const variants = [
    { key: 'one', title: 'one', quick: true },
    { key: 'two', title: 'two', quick: true, page: { often: true } },
    { key: 'three', title: 'three', page: { pools: ['b'] } },
    { key: 'four', title: 'four', page: {} },
  ]
  const timeouts = new Set<number>()
  await runAll(
    wanted('--quick', '--all', '--rounds', '2', '--peers', 'b'),
    { some: { ...some, variants, timeout: 50, quickTimeout: 7 } },
    pools,
    async ([, variant, pool]: string[], timeout: number) => {
      asked.push(`${variant} ${pool}`)
      timeouts.add(timeout)
      return { metrics: { ms: 1 } }
    },
    () => {},
  )
  expect(asked).toEqual(['two a', 'two b', 'two a', 'two b', 'three b', 'four a', 'four b'])
  expect([...timeouts]).toEqual([7])
})

it('measures with --quick --all each figure that the page shows', () => {
  expect(SHOWN.length).toBeGreaterThan(20)
  const missing = SHOWN.filter((where) => {
    const [name = '', key] = where.split('/')
    return CASES[name]?.variants.find((variant) => variant.key === key)?.page === undefined
  })
  expect(missing).toEqual([])
})

it('reports why a pool has no figure, and measures a failed pool no further', async () => {
  const asked: string[] = []
  const refusing: Case = { ...some, refuse: ({ kind }) => (kind === 'processes' ? 'cannot' : undefined) }
  const results = await runAll(
    wanted('--rounds', '3'),
    { some: refusing },
    pools,
    async ([, variant, pool]: string[]) => {
      asked.push(`${variant} ${pool}`)
      return pool === 'b' ? { reason: 'it broke' } : { metrics: { ms: 1 } }
    },
    () => {},
  )
  expect(asked.filter((each) => each === 'one b')).toHaveLength(1)
  expect(asked).not.toContain('one c')
  expect(results.some!.one).toMatchObject({ b: { reason: 'it broke' }, c: { reason: 'cannot' } })
  expect(Object.keys(results.some!.one!)).toEqual(['a', 'b', 'c'])
})

it('includes the floors in cases that define their work', async () => {
  const asked: string[] = []
  const floored: Case = { ...some, floor: ({ key }) => (key === 'one' ? { mode: 'throughput' } : undefined), fromFloor: () => ({}) }
  await runAll(
    wanted('--rounds', '1'),
    { some: floored },
    pools,
    async ([, variant, pool]: string[]) => {
      asked.push(`${variant} ${pool}`)
      return { metrics: { ms: 1 } }
    },
    () => {},
  )
  expect(asked.filter((each) => each.endsWith('f'))).toEqual(['one f'])
})
