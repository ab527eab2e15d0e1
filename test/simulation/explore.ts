import fc from 'fast-check'
import type { RunConfig } from './config.js'
import type { Coverage } from './history.js'
import { play } from './run.js'

export const STEPS = 100
/** One run in so many has a launcher process. */
const LAUNCHER_SHARE = 3

const configs: fc.Arbitrary<RunConfig> = fc
  .record({
    seed: fc.nat(),
    workers: fc.constantFrom(1, 1, 2, 2, 2, 3, 3, 4, 5, 6),
    low: fc.integer({ min: 0, max: 6 }),
    concurrency: fc.constantFrom(1, 1, 1, 2, 3, 8),
    dispatch: fc.constantFrom<RunConfig['dispatch']>('adaptive', 'adaptive', 'fast', 'fair', 3, 20),
    maxQueue: fc.constantFrom(undefined, undefined, undefined, 1, 8, 30),
    maxPutBacks: fc.constantFrom(5, 5, 1, 0),
    spare: fc.constantFrom(0, 0, 1, 2),
    maxJobsPerWorker: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, 1, 4, 25, 25),
    watchdog: fc.constantFrom(true, true, true, true, false),
    capacity: fc.constantFrom(65_536, 65_536, 4_096, 200_000, 512),
    cutShare: fc.constantFrom(0.1, 0.5, 1),
    latency: fc.constantFrom(0.05, 0.5, 3),
    record: fc.constantFrom(true, true, true, false),
    memory: fc.record({
      capacity: fc.constantFrom(0, 4_000, 50_000, 150_000, 150_000, 1_000_000),
      from: fc.constantFrom(40, 40, 1_000, 16_384),
      failures: fc.constantFrom(0, 0, 0.2),
    }),
    clockReadCost: fc.constantFrom(0, 0, 0, 0.01, 0.3),
  })
  .map(({ low, ...config }) => ({
    ...config,
    min: low < config.workers && low < 3 ? low : undefined,
    launcher: config.seed % LAUNCHER_SHARE === 0 ? ('process' as const) : ('host' as const),
  }))

const stepLists = fc.array(fc.nat({ max: 0xffff_ffff }), { minLength: STEPS, maxLength: STEPS + 10 })

export interface Exploration {
  runs: number
  seed: number
  /** fast-check's path to one run. */
  path?: string
  /** Returns the first failure as it is, without shrinking it. */
  endOnFailure?: boolean
  /** How many lines of the trace a failure prints. */
  lines?: number
  /** Time after which no new run begins, ms. */
  timeLimit?: number
}

/** Plays many runs. Returns the report of the first run that broke a promise, shrunk; undefined: none did. */
export const explore = async (coverage: Coverage, { runs, seed, path, endOnFailure, timeLimit, lines = 60 }: Exploration): Promise<string | undefined> => {
  const property = fc.asyncProperty(configs, stepLists, async (config, steps) => {
    const { violations } = await play(config, steps, coverage)
    if (violations.length > 0) throw new Error(violations.join('\n'))
  })
  const details = await fc.check(property, {
    numRuns: runs,
    seed,
    ...(path === undefined ? {} : { path }),
    endOnFailure: endOnFailure === true,
    ...(timeLimit === undefined ? {} : { interruptAfterTimeLimit: timeLimit, markInterruptAsFailure: false }),
  })
  if (!details.failed) return undefined
  const [config, steps] = details.counterexample!
  const { violations, trace } = await play(config, steps, coverage, true)
  return [
    `A promise was broken after ${details.numRuns} runs, shrunk ${details.numShrinks} times:`,
    ...violations.map((violation) => `  ${violation}`),
    '',
    `The run: ${JSON.stringify(config)}`,
    'The end of its trace (ms of virtual time):',
    ...trace.slice(-lines).map((line) => `  ${line}`),
    '',
    'To repeat the run:',
    `  npm run test:soak -- --seed ${details.seed} --path "${details.counterexamplePath}"`,
  ].join('\n')
}
