// Plays the simulation outside the test suite: for minutes, or one run again. See `npm run test:soak -- --help`.
import { parseArgs } from 'node:util'
import { explore } from './explore.js'
import { Coverage } from './history.js'

const HELP = `npm run test:soak -- --minutes N     plays new runs for N minutes
npm run test:soak -- --runs N        plays N runs
  --seed S --path P                  repeats one run, with the values that a failure prints
  --first                            stops at the first failure, without shrinking it
  --coverage                         fails also if no run made one of the transitions, or if runs were short
  --lines N                          lines of the trace after a failure (60)`

/** The smallest average of a run: a run that closes its pool early has fewer steps than it was given. */
const MIN_STEPS = 90

const coverageFailure = (coverage: Coverage, runs: number): string | undefined => {
  if (coverage.runs < runs) return `${coverage.runs} runs were played; ${runs} are required`
  if (coverage.steps / coverage.runs < MIN_STEPS) return `a run has ${coverage.steps / coverage.runs} steps on average; ${MIN_STEPS} are required`
  return coverage.missing.length === 0 ? undefined : `no run made these transitions of jobs or workers: ${coverage.missing.join(', ')}`
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    runs: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    first: { type: 'boolean' },
    coverage: { type: 'boolean' },
    lines: { type: 'string', default: '60' },
    help: { type: 'boolean' },
  },
})

if (values.help === true) {
  process.stdout.write(`${HELP}\n`)
} else {
  const coverage = new Coverage()
  const seed = values.seed === undefined ? Date.now() & 0x7fff_ffff : Number(values.seed)
  const began = performance.now()
  const until = began + Number(values.minutes ?? 0) * 60_000
  const runs = Number(values.runs ?? (values.path === undefined ? 1_000 : 1))
  let failure: string | undefined
  let round = 0
  do {
    const timeLimit = values.minutes === undefined ? undefined : Math.max(1, until - performance.now())
    failure = await explore(coverage, {
      runs,
      seed: seed + round++,
      ...(values.path === undefined ? {} : { path: values.path }),
      ...(timeLimit === undefined ? {} : { timeLimit }),
      lines: Number(values.lines),
      endOnFailure: values.first === true || values.path !== undefined,
    })
  } while (failure === undefined && performance.now() < until)
  const seconds = (performance.now() - began) / 1_000
  const cpu = process.cpuUsage().user / 1_000 / coverage.runs
  process.stdout.write(`${coverage.report()}\n\nseed ${seed}, ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} ms of CPU for each run\n`)
  if (failure === undefined && values.coverage === true) failure = coverageFailure(coverage, runs)
  if (failure !== undefined) {
    process.stdout.write(`\n${failure}\n`)
    process.exitCode = 1
  }
}
