import { defineConfig } from 'vitest/config'

/** Tests that leave nothing behind in their process: many files may share one, which spares a start for each. */
const units = ['test/hub/**/*.test.ts', 'test/wire/**/*.test.ts', 'test/pool/**/*.test.ts', 'test/native-bench/**/*.test.ts']

export default defineConfig({
  test: {
    pool: 'forks',
    // Suites start real processes, and many of them wait for a deadline: on two cores a third fills the gaps.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      { extends: true, test: { name: 'units', include: units, isolate: false } },
      { extends: true, test: { name: 'whole', include: ['test/**/*.test.{ts,tsx}'], exclude: units } },
    ],
  },
})
