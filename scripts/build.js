// Builds dist/: one bundle for each entry (start-up time is a feature: no import graph to walk at run time), and the type declarations.
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { execa } from 'execa'
import { apart } from './apart.js'
import { commandLine } from './command-line-bundle.js'

const root = fileURLToPath(new URL('..', import.meta.url))
// Built aside and moved into place whole: a build that fails leaves the last good one.
const aside = `dist.${process.pid}`
process.on('exit', () => rmSync(root + aside, { recursive: true, force: true }))

const common = {
  absWorkingDir: root,
  outdir: aside,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  external: ['amqplib'],
  legalComments: 'none',
  logLevel: 'warning',
}

// The classes of errors are in one file, which ESM and CommonJS load alike: in each bundle, they would be other classes in a
// worker than in `prefork`, as its tasks import it.
const errors = 'src/wire/errors.ts'

await build({
  ...common,
  entryPoints: {
    index: 'src/index.ts',
    'worker/index': 'src/worker/index.ts',
    'amqp/index': 'src/amqp/index.ts',
    'runtime/index': 'src/runtime/index.ts',
    'runtime/path-task': 'src/runtime/path-tasks/path-task.ts',
    'node/index': 'src/node/index.ts',
  },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  // Bundled CommonJS asks for Node's built-in modules through require.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
  plugins: [apart(errors, '#errors')],
})

// What a worker starts with is CommonJS: it runs without waiting for the ESM loader.
const commonJs = { ...common, format: 'cjs', outExtension: { '.js': '.cjs' } }
await build({ ...commonJs, entryPoints: { 'wire/errors': errors } })
await build({
  ...commonJs,
  entryPoints: { 'worker/entry': 'src/worker/entry.ts' },
  // The rest lies in a file of its own, which is compiled when HELLO is out.
  plugins: [apart('src/worker/main.ts', './main.cjs')],
})
await build({
  ...commonJs,
  entryPoints: { 'worker/main': 'src/worker/main.ts' },
  plugins: [apart(errors, '../wire/errors.cjs')],
  define: { 'import.meta.url': '__url' },
  // In front of esbuild's own "use strict", which would be none behind it.
  banner: { js: "'use strict'; const __url = require('node:url').pathToFileURL(__filename).href;" },
})
// The watchdog's thread has no part in what tasks see.
await build({ ...commonJs, entryPoints: { 'worker/watchdog': 'src/worker/watchdog/thread.ts' } })

// The command line: bundles of its own, the dashboard in one that is loaded when it is asked for. What speaks to the broker is the library's.
await build({
  ...common,
  ...commandLine,
  outdir: `${aside}/cli`,
})
chmodSync(`${root}${aside}/cli/prefork.js`, 0o755)

if (!process.argv.includes('--no-types')) {
  const tsc = [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json', '--outDir', aside]
  const { exitCode } = await execa(process.execPath, tsc, { cwd: root, stdio: 'inherit', reject: false })
  if (exitCode !== 0) process.exit(exitCode ?? 1)
}
rmSync(`${root}dist`, { recursive: true, force: true })
renameSync(root + aside, `${root}dist`)
