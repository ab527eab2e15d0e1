// Bundles the soak of the queue and runs it in plain Node: `npm run soak:queue -- --kills 100`.
import { runBundled } from './bundle.js'

await runBundled('test/queue-soak/main.ts')
