import { expect, it } from 'vitest'
import { readFaktoryArgs } from '../../native-bench/faktory/args.js'
import { evaluateGoals, GOALS } from '../../native-bench/faktory/goals.js'
import { UsageError } from '../../native-bench/lib/args.js'
import { cell } from './results.js'

it('measures with the peer by default, the smoke without', () => {
  expect(readFaktoryArgs([])).toMatchObject({ size: 'short', rounds: 3, connections: 10, peer: true, json: false })
  expect(readFaktoryArgs(['--full', '--no-peer', '--rounds', '2', '--connections', '5'])).toMatchObject({
    size: 'full',
    rounds: 2,
    connections: 5,
    peer: false,
  })
  expect(readFaktoryArgs(['--smoke'])).toMatchObject({ size: 'smoke', rounds: 1, peer: false })
})

it.each([
  [['--rounds', '0'], /whole number/],
  [['--connections', 'many'], /whole number/],
  [['--full', '--smoke'], /both/],
  [['--ful'], /npm run bench:faktory/],
])('refuses %j', (args, text) => {
  expect(() => readFaktoryArgs(args)).toThrow(UsageError)
  expect(() => readFaktoryArgs(args)).toThrow(text)
})

it('judges a node on a real server only', () => {
  const results = { worker: cell({ perSecond: 800 }), bare: cell({ perSecond: 1_000 }), 'faktory-worker': cell({ perSecond: 600 }) }
  const found = (isReal: boolean) => evaluateGoals(results, isReal).map(({ value, met }) => [Number(value.toFixed(2)), met])
  expect(found(true)).toEqual([
    [1.33, false],
    [0.8, true],
  ])
  expect(found(false)).toEqual([
    [1.33, undefined],
    [0.8, undefined],
  ])
  expect(new Set(GOALS.map(({ text }) => text)).size).toBe(GOALS.length)
})
