import { spawnSync } from 'node:child_process'

/** Builds the broken copy and runs the test that must then fail. */
export const byFaultTest = ({ root }, { test }) => {
  const run = (...args) => spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', timeout: 300_000, killSignal: 'SIGKILL' })
  if (run('scripts/build.js', '--no-types').status !== 0) return { caught: false, how: 'does not build' }
  return { caught: run('node_modules/vitest/vitest.mjs', 'run', '--bail=1', test).status !== 0, how: test }
}
