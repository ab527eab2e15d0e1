// What the case "growth" costs without a pool: `node promises.js 1000000`. Each call is one promise, which the host itself resolves later.
import { PerformanceObserver } from 'node:perf_hooks'
import { noopOf, warmUp } from '../lib/load.js'

/** Calls that are answered in one turn of the event loop: as many as a pool of 2 workers writes ahead. */
const AT_ONCE = 256
const AT_LEAST_MS = 500
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
let done = 0
const began = performance.now()
const cpu = process.cpuUsage()
do {
  await Promise.all(Array.from({ length: jobs }, noop))
  done += jobs
} while (performance.now() - began < AT_LEAST_MS)
const ms = performance.now() - began
const { user, system } = process.cpuUsage(cpu)
await new Promise((resolve) => setImmediate(resolve))
console.log({ jobs, micros: (1_000 * ms) / done, cpuMicros: (user + system) / done, gcMicros: (1_000 * collecting) / done })
