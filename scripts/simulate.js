// Bundles a simulation and runs it in plain Node: `npm run test:soak -- --minutes 60`, with `--queue` that of the queue's stores.
import { runBundled } from './bundle.js'

const isOfQueue = process.argv.includes('--queue')
// A larger young generation saves a ninth of the time: the simulation makes millions of short-lived objects.
await runBundled(isOfQueue ? 'test/queue/simulation/main.ts' : 'test/simulation/main.ts', ['--min-semi-space-size=64', '--max-semi-space-size=64'])
