import fc from 'fast-check'
import type { Coverage } from './coverage.js'
import { play, type RunConfig } from './run.js'

export const STEPS = 50

const configs = (store: RunConfig['store']): fc.Arbitrary<RunConfig> =>
  fc.record({
    store: fc.constant(store),
    seed: fc.nat(),
    processes: fc.constantFrom(1, 2, 2, 3, 3, 4),
    width: fc.constantFrom(1, 2, 4, 10),
  })

const stepLists = fc.array(fc.nat({ max: 0xffff_ffff }), { minLength: STEPS, maxLength: STEPS + 10 })

export interface Exploration {
  readonly store: RunConfig['store']
  readonly runs: number
  readonly seed: number
  /** fast-check's path to one run. */
  readonly path?: string
  /** Returns the first failure as it is, without shrinking it. */
  readonly endOnFailure?: boolean
  /** How many lines of the trace a failure prints. */
  readonly lines?: number
  /** Time after which no new run begins, ms. */
  readonly timeLimit?: number
}

/** Plays many runs. Returns the report of the first run that broke a rule, shrunk; undefined: none did. */
export const explore = async (
  coverage: Coverage,
  { store, runs, seed, path, endOnFailure, timeLimit, lines = 60 }: Exploration,
): Promise<string | undefined> => {
  const property = fc.asyncProperty(configs(store), stepLists, async (config, steps) => {
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
  const { violations, trace, steps: played } = await play(config, steps, coverage, true)
  return [
    `A promise was broken after ${details.numRuns} runs, shrunk ${details.numShrinks} times, in step ${played + 1}:`,
    ...violations.map((violation) => `  ${violation}`),
    '',
    `The run: ${JSON.stringify(config)}`,
    'The end of its trace (ms of virtual time):',
    ...trace.slice(-lines).map((line) => `  ${line}`),
    '',
    'To repeat the run:',
    `  npm run test:soak -- --queue --store ${store} --seed ${details.seed} --path "${details.counterexamplePath}"`,
  ].join('\n')
}
