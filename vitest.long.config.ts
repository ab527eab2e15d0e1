import { suiteOf } from './vitest.config.js'

/** Properties of which `npm test` plays a share. */
const PROPERTIES = [
  'amqp/consuming/settled-tags',
  'faults/values',
  'pool/queue/job-queue',
  'util/deque',
  'wire/codec/plain',
  'wire/codec/refusals',
  'wire/frame-writer',
]
process.env.PREFORK_TEST_ALL_RUNS = '1'

/** `npm run test:long`: the long runs of the simulation and of the soak, all runs of the properties, and the faults that are waited for. */
export default suiteOf(['test/**/*.long.test.ts', ...PROPERTIES.map((name) => `test/**/${name}.test.ts`)], [])
