// Writes THIRD-PARTY-LICENSES.md: the licenses of the packages whose code is in the bundles of dist/, as esbuild names them.
// `--check` compares instead of writing.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { commandLine } from './command-line-bundle.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = join(root, 'THIRD-PARTY-LICENSES.md')

/** Packages without a license file, with the copyright line of their sources. */
const WITHOUT_FILE = { 'yoga-layout': 'Copyright (c) Meta Platforms, Inc. and affiliates.' }
const MIT = readFileSync(join(root, 'LICENSE'), 'utf8').replace(/^.*?(?=Permission is hereby granted)/s, '')

const common = {
  absWorkingDir: root,
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  write: false,
  metafile: true,
  logLevel: 'error',
}
const bundles = [
  await build({
    ...common,
    external: ['amqplib'],
    entryPoints: [
      'src/index.ts',
      'src/worker/index.ts',
      'src/worker/entry.ts',
      'src/worker/watchdog/thread.ts',
      'src/queue/store/sqlite/thread/store-thread.ts',
      'src/runtime/index.ts',
      'src/runtime/path-tasks/path-task.ts',
      'src/node/index.ts',
      'src/amqp/index.ts',
      'src/faktory/index.ts',
      'src/queue/index.ts',
    ],
  }),
  await build({ ...common, ...commandLine }),
]

const folders = new Set()
for (const { inputs } of bundles.flatMap(({ metafile }) => Object.values(metafile.outputs))) {
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
    if (folder !== undefined && bytesInOutput > 0) folders.add(folder)
  }
}

const byKey = new Map()
for (const folder of folders) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const text = readdirSync(join(root, folder)).find((each) => /^licen[cs]e(-mit)?(\.(md|txt))?$/i.test(each))
  if (text === undefined && (license !== 'MIT' || !(name in WITHOUT_FILE))) throw new Error(`${name} has no license file`)
  const body = (text === undefined ? `MIT License\n\n${WITHOUT_FILE[name]}\n\n${MIT}` : readFileSync(join(root, folder, text), 'utf8'))
    .replaceAll('\r\n', '\n')
    .trim()
  // A package may be installed more than once, in several node_modules folders.
  byKey.set(`${name}@${version}`, { key: `${name}@${version}`, body: `## ${name} ${version}\n\nLicense: ${license}\n\n\`\`\`text\n${body}\n\`\`\`\n` })
}
const sections = [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1))

const page = `# Third-party licenses

The bundles in \`dist/\` contain code of the packages below. Each is used under its own license.

${sections.map((section) => section.body).join('\n')}`

if (process.argv.includes('--check')) {
  const same = existsSync(file) && readFileSync(file, 'utf8') === page
  console.log(same ? `${sections.length} packages, all named` : 'THIRD-PARTY-LICENSES.md is out of date: npm run licenses')
  process.exitCode = same ? 0 : 1
} else writeFileSync(file, page)
console.log(sections.map((section) => section.key).join(' '))
