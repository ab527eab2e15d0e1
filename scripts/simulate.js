// Bundles the simulation and runs it in plain Node: `npm run test:soak -- --minutes 60`.
import { runBundled } from './bundle.js'

// A larger young generation saves a ninth of the time: the simulation makes millions of short-lived objects.
await runBundled('test/simulation/main.ts', ['--min-semi-space-size=64', '--max-semi-space-size=64'])
