import { expect, it } from 'vitest'
import { judge, TARGETS } from '../../native-bench/lib/targets.js'
import { View } from '../../native-bench/lib/view.js'
import { POOLS } from '../../native-bench/pools/index.js'
import { cell, noopResults } from './results.js'

const judged = (results: Parameters<typeof judgeOf>[0], text: string) => judgeOf(results).find((each) => each.text === text)
const judgeOf = (results: ConstructorParameters<typeof View>[0]) => judge(new View(results, POOLS))

it('are against the best peer of the kind', () => {
  const results = noopResults({
    prefork: 240_000,
    poolifier: 100_000,
    piscina: 30_400,
    'fork-json': 60_000,
    'workerpool-processes': 30_000,
    'c-floor': 600_000,
  })
  expect(judged(results, 'no-op: the fastest peer of any kind')).toMatchObject({ found: { value: 2.4, note: 'poolifier, threads' }, met: true })
  expect(judged(results, 'no-op: the fastest process pool')).toMatchObject({ found: { value: 8, note: 'workerpool, processes' }, met: true })
  expect(judged(results, 'no-op: the same, bare fork among them')).toMatchObject({ found: { value: 4, note: 'bare fork, json' }, met: false })
  expect(judged(results, 'no-op: the floor in C')).toMatchObject({ found: { value: 0.4 }, met: true })
  expect(judged(results, "no-op: Celery's AsynPool (by way of piscina)")?.found.value).toBeCloseTo(240_000 / 10_900)
})

it('of times are against the shortest', () => {
  const results = { rtt: { one: { prefork: cell({ p50: 50 }), 'fork-json': cell({ p50: 60 }), 'workerpool-processes': cell({ p50: 100 }) } } }
  expect(judged(results, 'round trip p50: the same, bare fork among them')).toMatchObject({ found: { value: 50 / 60 }, met: true })
})

it('may have a bound that depends on the run', () => {
  const results = (adaptive: number) => ({ mixed: { mixed: { prefork: cell({ p99: adaptive }), 'prefork-fair': cell({ p99: 100 }) } } })
  const text = 'mixed: p99 of the short under adaptive, against 1.3 x fair + 5 ms'
  expect(judged(results(135), text)).toMatchObject({ bound: 135, met: true })
  expect(judged(results(136), text)).toMatchObject({ met: false })
})

it('take the worst of several loads', () => {
  const at = (httpP99: number) => cell({ httpP99, loopP99: 1 })
  const results = {
    latency: { 'noop-50MB': { prefork: at(2), piscina: at(4) }, '1KB-2000MB': { prefork: at(3), piscina: at(2) } },
  }
  expect(judged(results, 'saturated: HTTP p99 against piscina, the worst of the loads')).toMatchObject({
    found: { value: 1.5, note: '1KB-2000MB' },
    met: false,
  })
})

it('are left out where the run has not what they take', () => {
  expect(judgeOf({})).toEqual([])
  const without = noopResults({ prefork: 1 })
  expect(judgeOf(without).map(({ text }) => text)).toEqual(["no-op: host's CPU for each job"])
  expect(judgeOf({ noop: { '2w-128': { prefork: { reason: 'it broke' } } } })).toEqual([])
})

it('have texts of their own', () => {
  expect(new Set(TARGETS.map(({ text }) => text)).size).toBe(TARGETS.length)
})
