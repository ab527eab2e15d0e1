// Bundles the farm soak and runs it in plain Node: `npm run soak:farm -- --jobs 20000`.
import { runBundled } from './bundle.js'

await runBundled('test/farm-soak/main.ts')
