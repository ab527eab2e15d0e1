// Bundles the simulation and runs it in plain Node.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleSimulation } from './simulation-bundle.js'

const root = fileURLToPath(new URL('..', import.meta.url))
// In the tree, so that packages left out of the bundle are found; node_modules is nobody's business.
const scratch = mkdtempSync(join(root, 'node_modules', '.simulation-'))
try {
  const outfile = join(scratch, 'main.mjs')
  await bundleSimulation(root, outfile)
  const { status, signal } = spawnSync(process.execPath, ['--enable-source-maps', outfile, ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exitCode = signal === null ? (status ?? 1) : 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
