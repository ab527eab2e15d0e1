import { execa } from 'execa'

/** Builds the mutated copy and runs the test, which must fail. */
export const byFaultTest = async ({ root }, { test }) => {
  const run = (...args) => execa(process.execPath, args, { cwd: root, reject: false, timeout: 300_000, killSignal: 'SIGKILL' })
  if ((await run('scripts/build.js', '--no-types')).failed) return { caught: false, how: 'does not build' }
  return { caught: (await run('node_modules/vitest/vitest.mjs', 'run', '--bail=1', test)).failed, how: test }
}
