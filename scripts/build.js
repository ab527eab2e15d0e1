// Builds dist/: one bundle for each entry (start-up time is a feature: no import graph to walk at run time), and the type declarations.
import { spawnSync } from 'node:child_process'
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
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

await build({
  ...common,
  entryPoints: {
    index: 'src/index.ts',
    'worker/index': 'src/worker/index.ts',
    'worker/entry': 'src/worker/entry.ts',
    'brokers/amqp/index': 'src/brokers/amqp/index.ts',
    'runtime/index': 'src/runtime/index.ts',
    'runtime/path-task': 'src/runtime/path-task.ts',
    'brokers/node/index': 'src/brokers/node/index.ts',
  },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  // Bundled CommonJS asks for Node's built-in modules through require.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
})

// Each worker starts this thread: as CommonJS it needs no module loader of its own.
await build({
  ...common,
  entryPoints: { 'worker/watchdog': 'src/worker/watchdog/thread.ts' },
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
})

// The command line: bundles of its own, the dashboard in one that is loaded when it is asked for. What speaks to the broker is the library's.
await build({
  ...common,
  ...commandLine,
  outdir: `${aside}/cli`,
})
chmodSync(`${root}${aside}/cli/prefork.js`, 0o755)

if (!process.argv.includes('--no-types')) {
  const { status } = spawnSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json', '--outDir', aside], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}
rmSync(`${root}dist`, { recursive: true, force: true })
renameSync(root + aside, `${root}dist`)
