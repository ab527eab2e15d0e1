/** A host that esbuild bundles with prefork, without configuration. */
import { cpSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, stop } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { makeProject, root } from '../docs/document.js'
import { moved, PRINTED, runBundle, SOURCES } from './bundlers.js'

const bundled = async (host: string, format: 'esm' | 'cjs') => {
  const { folder, remove } = makeProject()
  onTestFinished(remove)
  for (const [name, text] of Object.entries(SOURCES)) writeFileSync(join(folder, name), text)
  const out = join(folder, 'out')
  const outExtension = { '.js': format === 'esm' ? '.js' : '.cjs' }
  const entryPoints = [host, 'tasks.js'].map((name) => join(folder, name))
  await build({ entryPoints, bundle: true, platform: 'node', format, outdir: out, outExtension, logLevel: 'silent' })
  // Its service would be a child of the tests that follow.
  await stop()
  if (format === 'esm') writeFileSync(join(out, 'package.json'), '{ "type": "module" }')
  return out
}

it.each([
  ['esm', 'host.js', 'host.js'],
  ['cjs', 'host-cjs.js', 'host-cjs.cjs'],
] as const)('of format %s works where prefork is installed', async (format, host, file) => {
  const out = await bundled(host, format)
  expect(await runBundle(join(out, file))).toEqual({ stdout: PRINTED, stderr: '' })
})

it('says what to do where prefork is not installed', async () => {
  const { stdout, stderr } = await runBundle(join(moved(await bundled('host.js', 'esm')), 'host.js'))
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^Error: prefork was bundled, and its package is not installed where the bundle runs: .* external: esbuild --external:prefork/m)
})

it('says what to do where only the files of the package that imports name were copied', async () => {
  const folder = moved(await bundled('host.js', 'esm'))
  const place = join(folder, 'node_modules/prefork')
  for (const name of ['package.json', 'dist/index.js', 'dist/chunks']) cpSync(join(root, name), join(place, name), { recursive: true })
  writeFileSync(join(folder, 'traced.mjs'), "import 'prefork'\n")
  const { stderr } = await runBundle(join(folder, 'traced.mjs'))
  expect(stderr).toContain(`Error: Files of prefork are missing in ${realpathSync(place)}/dist/: `)
  expect(stderr).toMatch(/ for Next\.js: outputFileTracingIncludes: \{ /)
})
