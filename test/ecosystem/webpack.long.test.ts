/** A host that webpack bundles with prefork, without configuration of its own for it. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { moved, PRINTED, runBundle, SOURCES } from './bundlers.js'
import { INSTALL_TIMEOUT, installPackages, projectOf } from './packages.js'

beforeAll(installPackages, INSTALL_TIMEOUT)

const BUILD = `import webpack from 'webpack'
const esm = process.argv[2] === 'esm'
webpack({
  mode: 'production',
  target: 'node20',
  context: process.cwd(),
  entry: './host.js',
  output: { path: process.cwd() + '/out', filename: esm ? 'host.mjs' : 'host.cjs', ...(esm && { module: true, chunkFormat: 'module' }) },
  experiments: { outputModule: esm },
}, (error, stats) => {
  if (error || stats.hasErrors()) throw error ?? new Error(stats.toString())
})
`

it.each([
  ['esm', 'host.mjs'],
  ['commonjs', 'host.cjs'],
])(
  'of format %s works where it was built, and where prefork is installed',
  async (format, file) => {
    const { folder, node } = await projectOf(['webpack'], { ...SOURCES, 'build.js': BUILD })
    expect(await node(['build.js', format])).toEqual({ output: '', code: 0 })
    expect(await runBundle(join(folder, 'out', file))).toEqual({ stdout: PRINTED, stderr: '' })

    const place = moved(join(folder, 'out'))
    mkdirSync(join(place, 'node_modules'))
    symlinkSync(fileURLToPath(new URL('../../', import.meta.url)), join(place, 'node_modules/prefork'))
    writeFileSync(join(place, 'package.json'), '{ "type": "module" }')
    expect(await runBundle(join(place, file))).toEqual({ stdout: PRINTED, stderr: '' })
  },
  150_000,
)
