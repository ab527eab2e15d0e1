import { join } from 'node:path'
import { execa } from 'execa'
import { bundle } from '../bundle.js'

const TIMEOUT_MS = 180_000

/** Builds the mutated copy and runs its proof, which must find that a promise was broken. */
export const byQueueProof = async ({ root }, { proof: [name, kills] }) => {
  const run = (...args) => execa(process.execPath, args, { cwd: root, reject: false, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
  // Beside its sources, for it finds the scripts of its processes from there.
  const file = join(root, 'test/queue-soak/main.mjs')
  if ((await run('scripts/build.js', '--no-types')).failed) return { caught: false, how: 'does not build' }
  await bundle(root, 'test/queue-soak/main.ts', file)
  const { stdout, stderr } = await run(file, '--only', name, ...(kills === undefined ? [] : ['--kills', kills]))
  const found = /^VIOLATION (.*)$/m.exec(stdout)
  return found === null
    ? { caught: false, how: `the proof '${name}' found nothing: ${`${stdout}\n${stderr}`.trim().slice(-500)}` }
    : { caught: true, how: found[1].slice(0, 160) }
}
