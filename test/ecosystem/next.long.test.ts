/**
 * The route handler of the guide under Next.js itself: built and served, and in development. Next.js takes 350 MB, so it is not among the packages of this folder:
 * NEXT_FOLDER names a folder with node_modules that have `next`, `react` and `react-dom`, beside which a project is made.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { execa } from 'execa'
import { expect, it, onTestFinished } from 'vitest'
import { blocksOf, fileNameOf, readPage, root } from '../docs/document.js'
import { childrenOf, gone, until } from '../fixtures/support.js'

const parent = process.env.NEXT_FOLDER
const next = parent === undefined ? undefined : join(parent, 'node_modules/next/dist/bin/next')
const missing = next === undefined ? 'NEXT_FOLDER is not set' : existsSync(next) ? undefined : `there is no ${next}`

if (missing !== undefined) console.warn(`SKIPPED: Next.js, because ${missing}`)

/** Where the files of the guide lie in a project. */
const PLACES: Readonly<Record<string, string>> = { 'tasks.mjs': 'tasks.mjs', 'next.config.mjs': 'next.config.mjs', 'route.js': 'app/square/route.js' }

const project = (): string => {
  const folder = mkdtempSync(join(parent!, 'prefork-next-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // As `create-next-app` makes it: without `type`.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  for (const block of blocksOf(readPage('docs/recipes.md'))) {
    const place = PLACES[fileNameOf(block) ?? '']
    if (place === undefined) continue
    mkdirSync(dirname(join(folder, place)), { recursive: true })
    // The folder of `next` is a part of what is deployed.
    const more = `export default {\n  output: 'standalone',\n  outputFileTracingRoot: ${JSON.stringify(parent)},`
    writeFileSync(join(folder, place), place.startsWith('next.config') ? block.text.replace('export default {', more) : block.text)
  }
  // A copy, as an install makes: Next.js follows no link out of its folder.
  for (const name of ['package.json', 'dist']) cpSync(join(root, name), join(folder, 'node_modules/prefork', name), { recursive: true })
  return folder
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

const env = { NEXT_TELEMETRY_DISABLED: '1', CI: '1', NODE_ENV: undefined, VITEST: undefined }

/** Every process below `pid`. */
const below = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child.pid, ...below(child.pid)])

const isWorker = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('prefork worker')

/** `command` of Next.js in this folder, or its server of `output: 'standalone'`. */
const serves = async (folder: string, command: 'start' | 'dev' | 'standalone') => {
  const port = await freePort()
  const args = command === 'standalone' ? ['server.js'] : [next!, command, '--port', String(port), '--hostname', '127.0.0.1']
  const server = execa(process.execPath, args, {
    cwd: folder,
    env: { ...env, PORT: String(port), HOSTNAME: '127.0.0.1' },
    all: true,
    reject: false,
    stdin: 'ignore',
  })
  let output = ''
  server.all.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const stop = async (): Promise<void> => {
    const processes = below(server.pid!)
    server.kill('SIGTERM')
    await server
    await gone(processes)
  }
  onTestFinished(stop)
  const url = `http://127.0.0.1:${port}/square?n=7`
  await until(`it answers: ${output}`, async () => (await fetch(url).catch(() => undefined))?.status, 60_000)
  return { url, server, output: () => output }
}

it.skipIf(missing !== undefined)(
  'runs jobs in a route handler',
  async () => {
    const folder = project()
    const built = await execa(process.execPath, [next!, 'build'], { cwd: folder, env, all: true, reject: false, stdin: 'ignore' })
    expect(built.exitCode, built.all).toBe(0)
    // A worker has loaded neither tasks nor configuration with a warning, and the build has started none.
    expect(built.all).not.toContain('MODULE_TYPELESS_PACKAGE_JSON')
    // Elsewhere, so that it finds nothing of the project.
    const standalone = mkdtempSync(join(tmpdir(), 'prefork-standalone-'))
    onTestFinished(() => rmSync(standalone, { recursive: true, force: true }))
    cpSync(join(folder, '.next/standalone'), standalone, { recursive: true, verbatimSymlinks: true })
    for (const command of ['start', 'standalone', 'dev'] as const) {
      const { url, server, output } = await serves(command === 'standalone' ? join(standalone, basename(folder)) : folder, command)
      const response = await fetch(url)
      const text = await response.text()
      expect([response.status, text], output()).toEqual([200, '{"square":49}'])
      if (command === 'dev') {
        const route = join(folder, PLACES['route.js']!)
        writeFileSync(route, readFileSync(route, 'utf8').replace('square:', 'again:'))
        await until('the route is loaded again', async () => (await (await fetch(url)).text()) === '{"again":49}', 60_000)
      }
      // One pool, however often the route was loaded.
      expect(below(server.pid!).filter(isWorker), output()).toHaveLength(1)
    }
  },
  300_000,
)
