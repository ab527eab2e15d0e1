// Builds dist/: a bundle for each entry, as an import graph would cost start-up time, and the type declarations.
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { execa } from 'execa'
import { commandLine } from './command-line-bundle.js'
import { externalFile, ownFile } from './external-file-plugin.js'

const root = fileURLToPath(new URL('..', import.meta.url))
// Built in a temporary folder and then renamed: a failed build keeps the previous one.
const staging = `dist.${process.pid}`
process.on('exit', () => rmSync(root + staging, { recursive: true, force: true }))

const common = {
  absWorkingDir: root,
  outdir: staging,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  external: ['amqplib'],
  legalComments: 'none',
  logLevel: 'warning',
}

// ESM and CommonJS load the error classes from one file: with a copy in each bundle, the classes of a worker would differ from those
// that its tasks import from `prefork`.
const errors = 'src/wire/errors.ts'

await build({
  ...common,
  entryPoints: {
    index: 'src/index.ts',
    'worker/index': 'src/worker/index.ts',
    'amqp/index': 'src/amqp/index.ts',
    'faktory/index': 'src/faktory/index.ts',
    'queue/index': 'src/queue/index.ts',
    'runtime/index': 'src/runtime/index.ts',
    'runtime/path-task': 'src/runtime/path-tasks/path-task.ts',
    'node/index': 'src/node/index.ts',
    // Loaded on demand.
    'queue/store/sqlite/sqlite-store': 'src/queue/store/sqlite/sqlite-store.ts',
  },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  // Bundled CommonJS requires built-in modules of Node.
  // (Not seen by a bundler, and usable in a bundle of CommonJS, where `import.meta.url` is undefined.)
  banner: { js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url ?? process.argv[1] ?? process.cwd() + '/');" },
  plugins: [ownFile(errors, 'wire/errors.cjs')],
})

// The entry of a worker is CommonJS, which runs without waiting for the ESM loader.
const commonJs = { ...common, format: 'cjs', outExtension: { '.js': '.cjs' } }
await build({ ...commonJs, entryPoints: { 'wire/errors': errors } })
await build({
  ...commonJs,
  entryPoints: { 'worker/main': 'src/worker/main.ts' },
  plugins: [externalFile(errors, '../wire/errors.cjs')],
  define: { 'import.meta.url': '__url' },
  // Has its own 'use strict', as esbuild's has no effect after the banner.
  banner: { js: "'use strict'; const __url = require('node:url').pathToFileURL(__filename).href;" },
})
// The rest is in main.cjs, which is compiled after HELLO was sent, or comes from its code cache: a cache is of one text.
const mainBuild = createHash('sha256')
  .update(readFileSync(`${root}${staging}/worker/main.cjs`))
  .digest('hex')
  .slice(0, 12)
await build({ ...commonJs, entryPoints: { 'worker/entry': 'src/worker/entry.ts' }, define: { MAIN_BUILD: JSON.stringify(mainBuild) } })
// The thread of a store in a file.
await build({ ...commonJs, entryPoints: { 'queue/store-thread': 'src/queue/store/sqlite/thread/store-thread.ts' } })
// A process that starts workers.
await build({ ...commonJs, entryPoints: { 'worker/launcher': 'src/pool/worker/launch/launcher-program.ts' } })
// The thread of the watchdog.
await build({ ...commonJs, entryPoints: { 'worker/watchdog': 'src/worker/watchdog/thread.ts' } })

// The command line: the dashboard is a chunk that is loaded on demand; prefork/amqp is imported from the package.
await build({
  ...common,
  ...commandLine,
  outdir: `${staging}/cli`,
  // Most of its code is that of Ink and React: its map has half a megabyte, and helps no user.
  sourcemap: false,
})
chmodSync(`${root}${staging}/cli/prefork.js`, 0o755)
// What browsers load is served as it is written.
cpSync(`${root}src/dashboard/web/page`, `${root}${staging}/dashboard`, { recursive: true })

if (!process.argv.includes('--no-types')) {
  const tsc = [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json', '--outDir', staging]
  const { exitCode } = await execa(process.execPath, tsc, { cwd: root, stdio: 'inherit', reject: false })
  if (exitCode !== 0) process.exit(exitCode ?? 1)
}
rmSync(`${root}dist`, { recursive: true, force: true })
renameSync(root + staging, `${root}dist`)
