// Checks that the lint rules enforce the layers of docs/architecture.md: the sources pass, and in a generated tree the rules reject
// every forbidden import in each of its forms and accept every allowed one.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execaSync } from 'execa'

const root = fileURLToPath(new URL('..', import.meta.url))
const biome = join(root, 'node_modules/.bin/biome')
const RULES = ['--only=style/noRestrictedImports', '--only=suspicious/noImportCycles']

const FLOORS = { util: 0, hub: 1, wire: 1, worker: 2, pool: 3, runtime: 4, node: 5, amqp: 6, faktory: 6, queue: 6, dashboard: 7, cli: 8 }

const FORMS = {
  import: (from) => `import { stub } from '${from}'\nconsole.log(stub)\n`,
  type: (from) => `import type { stub } from '${from}'\nexport type Stub = typeof stub\n`,
  reexport: (from) => `export { stub } from '${from}'\n`,
  dynamic: (from) => `export const load = () => import('${from}')\n`,
}

/** The files that the rules reject, relative to `folder`. */
const rejectedIn = (folder, ...paths) => {
  const args = ['lint', ...RULES, '--reporter=json', '--max-diagnostics=none', ...paths]
  const { exitCode: status, stdout, stderr } = execaSync(biome, args, { cwd: folder, reject: false })
  let report
  try {
    report = JSON.parse(stdout)
  } catch {
    throw new Error(`biome gave no report (exit ${status}): ${stderr || stdout}`)
  }
  const rejected = new Set()
  for (const { category, location } of report.diagnostics) {
    if (category?.startsWith('lint/')) rejected.add(String(location?.path?.file ?? location?.path).replaceAll('\\', '/'))
  }
  return { rejected, status }
}

const problems = []

const real = rejectedIn(root, 'src')
for (const file of real.rejected) problems.push(`${file} imports from a floor above its own, or in a circle`)
if (real.status !== 0 && real.rejected.size === 0) problems.push(`biome ended with ${real.status} on src/`)

const tree = mkdtempSync(join(tmpdir(), 'prefork-floors-'))
let probes = 0
try {
  copyFileSync(join(root, 'biome.json'), join(tree, 'biome.json'))
  const createFile = (file, text) => {
    mkdirSync(dirname(join(tree, file)), { recursive: true })
    writeFileSync(join(tree, file), text)
  }
  for (const folder of Object.keys(FLOORS)) {
    createFile(`src/${folder}/stub.ts`, 'export const stub = 1\n')
    createFile(`src/${folder}/nested/stub.ts`, 'export const stub = 1\n')
  }

  const forbidden = new Set()
  const allowed = new Set()
  const probe = (file, text, mayPass) => {
    createFile(file, text)
    probes++
    ;(mayPass ? allowed : forbidden).add(file)
  }
  for (const from of Object.keys(FLOORS).filter((folder) => existsSync(join(root, 'src', folder)))) {
    for (const to of Object.keys(FLOORS)) {
      const mayPass = to === from || FLOORS[to] < FLOORS[from]
      for (const [form, write] of Object.entries(FORMS)) {
        probe(`src/${from}/${form}-${to}.ts`, write(to === from ? './stub.js' : `../${to}/stub.js`), mayPass)
        // util and hub have no subfolders: there, what leaves a subfolder is rejected as well.
        if (from === 'util' || from === 'hub') continue
        probe(`src/${from}/nested/${form}-${to}.ts`, write(to === from ? '../stub.js' : `../../${to}/nested/stub.js`), mayPass)
      }
    }
    probe(`src/${from}/circle-a.ts`, "import { b } from './circle-b.js'\nexport const a = () => b\n", false)
    probe(`src/${from}/circle-b.ts`, "import { a } from './circle-a.js'\nexport const b = () => a\n", false)
  }

  const { rejected } = rejectedIn(tree, '.')
  for (const file of forbidden) if (!rejected.has(file)) problems.push(`the rules let ${file} pass`)
  for (const file of allowed) if (rejected.has(file)) problems.push(`the rules reject ${file}, which is allowed`)
} finally {
  rmSync(tree, { recursive: true, force: true })
}

for (const problem of problems) console.error(problem)
console.log(`import floors: ${readdirSync(join(root, 'src')).length} entries of src/ read, ${probes} probes, ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
