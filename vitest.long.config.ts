import { defineConfig } from 'vitest/config'
import suite from './vitest.config.js'

/** `npm run test:long`: the long runs of the simulation and of the soak, and the faults that are waited for. */
export default defineConfig({ test: { ...suite.test, include: ['test/**/*.long.test.ts'], exclude: [] } })
