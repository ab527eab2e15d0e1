import { join } from 'node:path'
import { build } from 'esbuild'

/** Bundles the simulation of the tree at `root`, which is TypeScript over the sources, for plain Node. */
export const bundleSimulation = (root, outfile) =>
  build({
    entryPoints: [join(root, 'test/simulation/main.ts')],
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
