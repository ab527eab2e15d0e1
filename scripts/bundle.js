// TypeScript over the sources, for plain Node: what the simulation and the soak of the farm are run as.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { execa } from 'execa'

/** Bundles `entry`, a path in the tree at `root`. */
export const bundle = (root, entry, outfile) =>
  build({
    entryPoints: [join(root, entry)],
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

/** Bundles `entry` and runs it with this process's arguments; its exit code is ours. */
export const runBundled = async (entry, flags = []) => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  // In the tree, so that packages left out of the bundle are found, and two folders below the root, as the sources are: what they
  // find by their own place is found.
  const scratch = mkdtempSync(join(root, 'node_modules', '.bundle-'))
  try {
    const outfile = join(scratch, 'main.mjs')
    await bundle(root, entry, outfile)
    const args = ['--enable-source-maps', ...flags, outfile, ...process.argv.slice(2)]
    const { exitCode = 1 } = await execa(process.execPath, args, { stdio: 'inherit', reject: false })
    process.exitCode = exitCode
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
