// Checks the package as users get it. `contents`: the files of the tarball, and that the links of its pages lead to some of them. `install`: installs it into an empty project, where it must
// add no other package, and runs a job through `import` and, where Node supports it, `require`.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execaSync } from 'execa'

const root = fileURLToPath(new URL('..', import.meta.url))
const MAX_BYTES = 5.75 * 1024 * 1024
const WANTED = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'THIRD-PARTY-LICENSES.md',
  'package.json',
  'dist/index.js',
  'dist/index.d.ts',
  'dist/runtime/index.js',
  'dist/runtime/index.d.ts',
  'dist/runtime/path-task.js',
  'dist/amqp/index.js',
  'dist/amqp/index.d.ts',
  'dist/faktory/index.js',
  'dist/faktory/index.d.ts',
  'dist/queue/index.js',
  'dist/queue/index.d.ts',
  'dist/queue/store-thread.cjs',
  'dist/node/index.js',
  'dist/node/index.d.ts',
  'dist/worker/index.js',
  'dist/worker/index.d.ts',
  'dist/worker/entry.cjs',
  'dist/worker/main.cjs',
  'dist/worker/watchdog.cjs',
  'dist/wire/errors.cjs',
  'dist/cli/prefork.js',
]

/** What the package has beside these and dist/. */
const PAGES = /^docs\/(?:[\w-]+\.md|benchmarks\.json|benchmarks(?:-summary)?\.svg|dashboard\.png|examples\/(?:server\/screenshot\.png|(?!.*\.png$).+))$/

/** The links of a page and its pictures, that lead to no file of the package, and to no folder of one. */
const brokenLinks = (page, paths) =>
  [
    ...readFileSync(join(root, page), 'utf8')
      .replace(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/\]\(([^)\s#]+)/g),
  ]
    .map(([, link]) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const target = normalize(join(dirname(page), link))
      return !paths.some((path) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`))
    })

const npm = (cwd, ...args) => execaSync('npm', args, { cwd, stdin: 'ignore', stderr: 'inherit' }).stdout

const contents = () => {
  const [{ files, unpackedSize }] = Object.values(JSON.parse(npm(root, 'pack', '--dry-run', '--json', '--ignore-scripts')))
  const problems = []
  const paths = files.map((file) => file.path)
  for (const path of WANTED) if (!paths.includes(path)) problems.push(`${path} is missing`)
  for (const path of paths) {
    if (!WANTED.includes(path) && !path.startsWith('dist/') && !PAGES.test(path)) problems.push(`${path} does not belong in the package`)
    if (path.endsWith('.md')) for (const link of brokenLinks(path, paths)) problems.push(`${path}: the link ${link} leads to no file of the package`)
    if (/\.tsbuildinfo$|\.test\.|metafile/.test(path)) problems.push(`${path} does not belong in the package`)
    if (path.startsWith('dist/') && readFileSync(join(root, path), 'utf8').includes(root)) problems.push(`${path} names a folder of this machine`)
  }
  if (unpackedSize > MAX_BYTES) problems.push(`${unpackedSize} bytes unpacked, more than ${MAX_BYTES}`)
  for (const { path, size } of files) console.log(`${String(size).padStart(9)}  ${path}`)
  console.log(`${files.length} files, ${unpackedSize} bytes unpacked`)
  return problems
}

const install = () => {
  const scratch = mkdtempSync(join(tmpdir(), 'prefork-package-'))
  try {
    npm(root, 'pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', scratch)
    const tarball = readdirSync(scratch).find((file) => file.endsWith('.tgz'))
    const project = join(scratch, 'project')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
    npm(project, 'install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', join(scratch, tarball))
    const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))
    if (installed.join() !== 'prefork') return [`beside prefork it installed: ${installed.join(', ')}`]

    writeFileSync(join(project, 'tasks.cjs'), 'exports.add = (a, b) => a + b\n')
    const use = (tasks) => `
      const pool = await createPool({ tasks: ${tasks}, workers: 1 })
      console.log(await pool.run('add', [1, 2]))
      await pool.close()`
    writeFileSync(join(project, 'main.mjs'), `import { createPool } from 'prefork'${use("new URL('./tasks.cjs', import.meta.url)")}\n`)
    const main = (file) => execaSync(process.execPath, [file], { cwd: project, timeout: 30_000 }).stdout
    const problems = []
    if (main('main.mjs') !== '3') problems.push('import: the job was not answered')
    if (process.features.require_module) {
      writeFileSync(join(project, 'main.cjs'), `const { createPool } = require('prefork')\n;(async () => {${use("require.resolve('./tasks.cjs')")}\n})()\n`)
      if (main('main.cjs') !== '3') problems.push('require: the job was not answered')
    }
    return problems
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const problems = process.argv[2] === 'install' ? install() : contents()
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
