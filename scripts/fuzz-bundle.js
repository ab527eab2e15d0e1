// Bundles test/fuzz/child.ts, with the codec as it is shipped, into the file named: the fuzz runs in processes of its own.
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
