import { defaultExclude, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Nothing here needs more authorities than its own, and Node 20 reads such a bundle at every start: 50 ms for each of some 1,500 processes.
delete process.env.NODE_EXTRA_CA_CERTS

/** The longest first, or the last of them runs on alone when all else is done. */
const LONGEST = [
  'first-half',
  'three-hundred-kills',
  'second-half',
  'stalled-worker',
  'cli/farm',
  'bad-start',
  'soft-limit-places',
  'worker/watchdog',
  'guides',
  'frozen-and-stalled',
  'host-in-trouble',
  'faults/limits',
  'amqp/faults',
  'own-host',
  'amqp/control',
  'faults/dispatch',
  'workers-come-and-go',
  'amqp/publisher',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.includes(name))
      return at === -1 ? LONGEST.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    // Suites start real processes, and most of them wait for a deadline: on two cores four more fill the gaps.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    // The built package is loaded as users load it.
    server: { deps: { external: [/\/dist\//] } },
    // A line for each file, and one for each test that is slower than this, ms.
    slowTestThreshold: 5_000,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    include: ['test/**/*.test.{ts,tsx}'],
    // `npm run test:long` runs these.
    exclude: ['**/*.long.test.ts', ...defaultExclude],
    // Many files share a process, which spares the start of one for each: they leave nothing behind in it.
    isolate: false,
  },
})
