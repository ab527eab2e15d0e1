// Bundles a simulation and runs it in plain Node: `npm run test:soak -- --minutes 60`, with `--queue` that of the queue's stores, with `--scaling` that of how
// nodes scale.
import { runBundled } from './bundle.js'

const { argv } = process
const entry = argv.includes('--queue')
  ? 'test/queue/simulation/main.ts'
  : argv.includes('--scaling')
    ? 'test/simulation/scaling/main.ts'
    : 'test/simulation/main.ts'
// A larger young generation saves a ninth of the time: the simulation makes millions of short-lived objects.
await runBundled(entry, ['--min-semi-space-size=64', '--max-semi-space-size=64'])
