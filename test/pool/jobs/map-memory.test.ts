import { expect, test } from 'vitest'
import { heldBytes } from '../gc.js'
import { endless, MapBench } from './map-help.js'

const ROUNDS = 20_000

test('jobs that settle before a long one use no memory until it settles', async () => {
  const bench = new MapBench(endless().source, { ordered: false, ahead: 2 })
  let next = bench.results.next()
  await new Promise((resolve) => setImmediate(resolve))
  // The first job never settles; one after another passes it.
  const pass = async (): Promise<void> => {
    const job = bench.jobs.at(-1)!
    bench.jobs.length = 1
    bench.args.length = 0
    job.settle({ state: 'succeeded', value: 1 })
    await next
    next = bench.results.next()
    while (bench.jobs.length < 2) await null
  }
  for (let i = 0; i < 500; i++) await pass()
  const before = heldBytes()
  for (let i = 0; i < ROUNDS; i++) await pass()
  // Promise.race over promises that stay pending would keep some 200 bytes on the first for each call.
  expect(heldBytes() - before).toBeLessThan(ROUNDS * 40)
  await bench.results.return()
  await next
})
