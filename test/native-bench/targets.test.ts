import { expect, it } from 'vitest'
import { evaluate, TARGETS } from '../../native-bench/lib/targets.js'
import { View } from '../../native-bench/lib/view.js'
import { POOLS } from '../../native-bench/pools/index.js'
import { cell, noopResults } from './results.js'

const evaluated = (results: Parameters<typeof evaluationsOf>[0], text: string) => evaluationsOf(results).find((each) => each.text === text)
const evaluationsOf = (results: ConstructorParameters<typeof View>[0]) => evaluate(new View(results, POOLS))

it('targets compare with the best peer of a kind', () => {
  const results = noopResults({
    prefork: 240_000,
    poolifier: 100_000,
    piscina: 30_400,
    'fork-json': 60_000,
    'workerpool-processes': 30_000,
    'c-floor': 600_000,
  })
  expect(evaluated(results, 'no-op: the fastest peer of any kind')).toMatchObject({ found: { value: 2.4, note: 'poolifier, threads' }, met: true })
  expect(evaluated(results, 'no-op: the fastest process pool')).toMatchObject({ found: { value: 8, note: 'workerpool, processes' }, met: true })
  expect(evaluated(results, 'no-op: the same, bare fork among them')).toMatchObject({ found: { value: 4, note: 'bare fork, json' }, met: false })
  expect(evaluated(results, 'no-op: the floor in C')).toMatchObject({ found: { value: 0.4 }, met: true })
  expect(evaluated(results, "no-op: Celery's AsynPool (by way of piscina)")?.found.value).toBeCloseTo(240_000 / 10_900)
})

it('targets of times compare with the shortest', () => {
  const results = { rtt: { one: { prefork: cell({ p50: 50 }), 'fork-json': cell({ p50: 60 }), 'workerpool-processes': cell({ p50: 100 }) } } }
  expect(evaluated(results, 'round trip p50: the same, bare fork among them')).toMatchObject({ found: { value: 50 / 60 }, met: true })
})

it('a target may have a bound that depends on the run', () => {
  const results = (adaptive: number) => ({ mixed: { mixed: { prefork: cell({ p99: adaptive }), 'prefork-fair': cell({ p99: 100 }) } } })
  const text = 'mixed: p99 of the short under adaptive, against 1.3 x fair + 5 ms'
  expect(evaluated(results(135), text)).toMatchObject({ bound: 135, met: true })
  expect(evaluated(results(136), text)).toMatchObject({ met: false })
})

it('a target takes the worst of several loads', () => {
  const at = (httpP99: number) => cell({ httpP99, loopP99: 1 })
  const results = {
    latency: { 'noop-50MB': { prefork: at(2), piscina: at(4) }, '1KB-2000MB': { prefork: at(3), piscina: at(2) } },
  }
  expect(evaluated(results, 'saturated: HTTP p99 against piscina, the worst of the loads')).toMatchObject({
    found: { value: 1.5, note: '1KB-2000MB' },
    met: false,
  })
})

it('targets without figures in the run are left out', () => {
  expect(evaluationsOf({})).toEqual([])
  const without = noopResults({ prefork: 1 })
  expect(evaluationsOf(without).map(({ text }) => text)).toEqual(["no-op: host's CPU for each job"])
  expect(evaluationsOf({ noop: { '2w-128': { prefork: { reason: 'it broke' } } } })).toEqual([])
})

it('targets have unique texts', () => {
  expect(new Set(TARGETS.map(({ text }) => text)).size).toBe(TARGETS.length)
})
