// Bundles TypeScript with the sources for plain Node: the simulation and the farm soak run this way.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { execa } from 'execa'

/** Bundles `entry`, a path in the tree at `root`. @param {string} root @param {string} entry @param {string} outfile */
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

/** Bundles `entry`, runs it with the arguments of this process and takes over its exit code. @param {string} entry @param {string[]} flags */
export const runBundled = async (entry, flags = []) => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  // In the tree, so that external packages resolve; two folders below the root, like the sources, so that paths relative to
  // import.meta.url stay valid.
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
