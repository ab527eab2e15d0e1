// Bundles the simulation and runs it in plain Node: `npm run test:soak -- --minutes 60`.
import { runBundled } from './bundle.js'

// Short-lived objects by the million: a young generation that holds them takes a ninth off.
await runBundled('test/simulation/main.ts', ['--min-semi-space-size=64', '--max-semi-space-size=64'])
