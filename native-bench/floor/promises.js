// What the case "growth" costs without a pool: `node promises.js 1000000`. Each call is one promise, which the host itself resolves later.
import { PerformanceObserver } from 'node:perf_hooks'
import { inBursts, noopOf, warmUp } from '../lib/load.js'

/** Calls that are answered in one turn of the event loop: as many as a pool of 2 workers writes ahead. */
const AT_ONCE = 256
const jobs = Number(process.argv[2] ?? 1_000_000)

/** @type {((value?: unknown) => void)[]} */
let waiting = []
let first = 0
const answer = () => {
  const end = Math.min(first + AT_ONCE, waiting.length)
  while (first < end) /** @type {() => void} */ (waiting[first++])()
  if (first < waiting.length) {
    setImmediate(answer)
    return
  }
  waiting = []
  first = 0
}
const noop = noopOf({
  call: () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(answer)
    }),
  close: async () => {},
})

let collecting = 0
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collecting += duration
}).observe({ entryTypes: ['gc'] })
await warmUp(128, noop)
collecting = 0
const { done, perSecond, hostMicros } = await inBursts(jobs, noop)
await new Promise((resolve) => setImmediate(resolve))
console.log({ jobs, micros: 1e6 / perSecond, cpuMicros: hostMicros, gcMicros: (1_000 * collecting) / done })
