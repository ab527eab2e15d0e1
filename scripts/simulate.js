// Bundles the simulation, which is TypeScript over the sources, and runs it in plain Node.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
// In the tree, so that packages left out of the bundle are found; node_modules is nobody's business.
const scratch = mkdtempSync(join(root, 'node_modules', '.simulation-'))
try {
  const outfile = join(scratch, 'main.mjs')
  await build({
    entryPoints: [join(root, 'test/simulation/main.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    outfile,
    logLevel: 'error',
  })
  const { status, signal } = spawnSync(process.execPath, ['--enable-source-maps', outfile, ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exitCode = signal === null ? (status ?? 1) : 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
