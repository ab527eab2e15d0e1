// Bundles test/fuzz/child.ts with the codec into the given file: the fuzz runs in child processes.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

await build({
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  entryPoints: ['test/fuzz/child.ts'],
  outfile: process.argv[2],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: 'inline',
  logLevel: 'warning',
})
