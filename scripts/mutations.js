// Applies each broken variant of test/mutations/ in a copy of the tree, builds it, and demands that its test fails.
// `npm run test:mutations [-- --promise 5]`. The tree itself is never touched.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mutations } from '../test/mutations/promises.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = process.argv.indexOf('--promise')
const wanted = at === -1 ? mutations : mutations.filter(({ promise }) => promise === Number(process.argv[at + 1]))
const copy = mkdtempSync(join(tmpdir(), 'prefork-mutations-'))

const run = (...args) => spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', timeout: 300_000, killSignal: 'SIGKILL' })

/** A variant may leave workers behind that nothing ends: they are known by the folder they run in (Linux). */
const endSurvivors = () => {
  for (const pid of process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`).startsWith(copy)) process.kill(Number(pid), 'SIGKILL')
    } catch {
      // Gone, or somebody else's.
    }
  }
}

let survived = 0
try {
  for (const entry of ['src', 'test', 'scripts', 'docs', 'README.md', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'vitest.config.ts']) {
    cpSync(join(root, entry), join(copy, entry), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const { promise, breaks, file, find, put, test } of wanted) {
    const path = join(copy, file)
    const sound = readFileSync(path, 'utf8')
    if (sound.split(find).length !== 2) {
      console.log(`stale     promise ${promise}: ${breaks} (its place in ${file} is gone, or not unique)`)
      survived++
      continue
    }
    writeFileSync(
      path,
      sound.replace(find, () => put),
    )
    const built = run('scripts/build.js', '--no-types')
    const tested = built.status === 0 ? run('node_modules/vitest/vitest.mjs', 'run', '--bail=1', test) : undefined
    writeFileSync(path, sound)
    endSurvivors()
    const caught = tested !== undefined && tested.status !== 0
    if (!caught) survived++
    const how = built.status === 0 ? '' : ' (does not build)'
    console.log(`${caught ? 'caught   ' : 'SURVIVED '} promise ${promise}: ${breaks}${how}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${wanted.length - survived} of ${wanted.length} caught`)
process.exit(survived === 0 ? 0 : 1)
