// Bundles the soak of the farm and runs it in plain Node: `npm run soak:farm -- --jobs 20000`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
// Two folders below the root, as the sources are: what they find by their own place is found.
const scratch = mkdtempSync(join(root, 'node_modules', '.farm-soak-'))
try {
  const outfile = join(scratch, 'main.mjs')
  await build({
    entryPoints: [join(root, 'test/farm-soak/main.ts')],
    absWorkingDir: root,
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
