import { suiteOf } from './vitest.config.js'

/** `npm run test:long`: the long runs of the simulation and of the soak, and the faults that are waited for. */
export default suiteOf(['test/**/*.long.test.ts'], [])
