import { Random } from '../random.js'
import { type FarmConfig, type Outcome, play } from './farm.js'
import { burst, farm, poisson, times } from './mixes.js'

const quantile = (sorted: readonly number[], q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0

const MIXES: Readonly<Record<string, () => FarmConfig>> = {
  '8 x 1.5 s at once, max 4': () => farm(burst(8, 1_500), { maxWorkers: 4 }),
  '100 x 250 ms at once': () => farm(burst(100, 250)),
  '200 ms at load 2, 120 s': () => farm(poisson(new Random(7), 10, 200, { until: 120_000 })),
  '4 x 1 s each 5 s, 10 min': () => farm(times(120, (i) => burst(4, 1_000, i * 5_000)).flat(), {}, { after: 20_000 }),
  'one 10 s, 200 x 10 ms': () => farm([...burst(1, 10_000), ...times(200, (i) => burst(1, 10, 100 + i * 5)).flat()], {}, { after: 60_000 }),
  '5,000 x 0.2 ms at once': () => farm(burst(5_000, 0.2, 0, { kind: 'compute' })),
  'computing 1 s at 1.8/s, 2 CPUs, 120 s': () => farm(poisson(new Random(7), 1.8, 1_000, { until: 120_000, kind: 'compute' })),
  'computing 40 x 1 s at once, 2 CPUs': () => farm(burst(40, 1_000, 0, { kind: 'compute' })),
  'a 400 ms job each 3 s, two each 30 s, 10 min': () => farm(times(200, (i) => burst(i % 10 === 0 ? 2 : 1, 400, i * 3_000)).flat(), {}, { after: 20_000 }),
  'burst 20 x 1 s, then 10 ms each 5 s, 10 min': () => farm([...burst(20, 1_000), ...times(120, (i) => burst(1, 10, i * 5_000)).flat()], {}, { after: 20_000 }),
}

const row = (name: string, { waits, starts, retired, workerSeconds, peakWorkers, faults, jobs }: Outcome): string => {
  const over = jobs.filter(({ beganAt, endedAt }) => beganAt !== undefined && endedAt !== undefined && endedAt - beganAt > 3_000).length
  const wait = [0.5, 0.99, 1].map((q) => Math.round(quantile(waits, q))).join('/')
  return `${name.padEnd(46)} | ${wait.padEnd(18)} | ${String(starts).padStart(4)} ${String(retired).padStart(4)} | peak ${peakWorkers} | ${Math.round(workerSeconds)} s${over > 0 ? ` | over 3 s: ${over}` : ''}${faults.length > 0 ? ` | ${faults[0]}` : ''}`
}

const random101 = (): string => {
  const random = new Random(7)
  const outcomes: Outcome[] = []
  for (let i = 0; i < 101; i++) {
    const ms = 5 * Math.exp(random.next() * Math.log(800))
    const load = 0.2 + random.next() * 8
    const size = random.below(40)
    const jobs = [...poisson(random, (load * 1_000) / ms, ms, { until: 20_000 }), ...times(size, () => burst(1, ms, 5_000 + random.next() * 1_000)[0]!)]
    if (jobs.length <= 6_000) outcomes.push(play(farm(jobs, { maxWorkers: 32 })))
  }
  const longest = outcomes.map(({ waits }) => waits.at(-1)!).toSorted((a, b) => a - b)
  const sum = (of: (outcome: Outcome) => number): number => Math.round(outcomes.reduce((total, each) => total + of(each), 0))
  return `${outcomes.length} random mixes: longest wait median ${Math.round(quantile(longest, 0.5))}, p90 ${Math.round(quantile(longest, 0.9))}, worst ${Math.round(longest.at(-1)!)}; starts ${sum((each) => each.starts)}, worker-seconds ${sum((each) => each.workerSeconds)}, with faults ${outcomes.filter(({ faults }) => faults.length > 0).length}`
}

/** What some mixes of jobs give: waits, starts and retirements, worker-seconds. */
export const table = (): string => [...Object.entries(MIXES).map(([name, make]) => row(name, play(make()))), random101()].join('\n')
