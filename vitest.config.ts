import { defaultExclude, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Nothing here needs more authorities than its own, and Node 20 reads such a bundle at every start: 50 ms for each of some 1,500 processes.
// npm needs them, where a proxy stands before the registry: `test/ecosystem/packages.ts` hands them on.
process.env.PREFORK_TEST_CA_CERTS ??= process.env.NODE_EXTRA_CA_CERTS ?? ''
delete process.env.NODE_EXTRA_CA_CERTS

/** The longest first, or the last of them runs on alone when all else is done. */
const LONGEST = [
  'first-half',
  'three-hundred-kills',
  'second-half',
  'cli/farm',
  'amqp/publisher',
  'amqp/control',
  'guides',
  'soft-limit-places',
  'worker/watchdog',
  'host-in-trouble',
  'amqp/faults',
  'faults/limits',
  'faults/bad-start',
  'own-host',
  'stalled-worker',
  'host-exits',
  'faults/worker-dies',
  'workers-come-and-go',
  'frozen-and-stalled',
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

/** The limits of an example are short, as its page shows them: the examples run when no other test keeps every core busy. */
const EXAMPLES = 'test/docs/**'

/** All tests of these files: first those that run side by side, then those that run examples of the docs. */
export const suiteOf = (include: string[], exclude: string[]) => {
  const project = (name: string, own: { include: string[]; exclude: string[] }, groupOrder: number) => ({
    extends: true as const,
    test: { ...own, name, sequence: { groupOrder } },
  })
  return defineConfig({
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
      // Many files share a process, which spares the start of one for each: they leave nothing behind in it.
      isolate: false,
      projects: [
        project('tests', { include, exclude: [EXAMPLES, ...exclude] }, 0),
        project('examples', { include: include.map((files) => files.replace('test/**', EXAMPLES)), exclude }, 1),
      ],
    },
  })
}

// `npm run test:long` runs the others.
export default suiteOf(['test/**/*.test.{ts,tsx}'], ['**/*.long.test.ts', ...defaultExclude])
