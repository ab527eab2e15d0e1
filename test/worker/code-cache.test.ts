import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { loadCached, writeCache } from '../../src/worker/code-cache.js'

const require = createRequire(import.meta.url)

/** A file with a cache. `load`: whether its cache was used. */
const withCache = () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-'))
  const file = join(folder, 'some.cjs')
  writeFileSync(file, "exports.twice = (n) => 2 * n\nexports.has = [typeof require, __filename, __dirname, module.exports === exports].join(' ')\n")
  const load = (build = 'one') => {
    const { exports, makeCache } = loadCached(file, build, require)
    const { twice, has } = exports as { twice(n: number): number; has: string }
    expect(twice(4)).toBe(8)
    expect(has).toBe(`function ${file} ${folder} true`)
    return { used: makeCache === undefined, makeCache }
  }
  const first = load()
  expect(first.used).toBe(false)
  first.makeCache!()
  const [name] = readdirSync(folder).filter((each) => each.endsWith('.cache'))
  const path = join(folder, name!)
  expect(load().used).toBe(true)
  return { folder, file, path, load }
}

test('a cache is of one text, and is made beside the file', () => {
  const { folder, path, load } = withCache()
  expect(readdirSync(folder)).toHaveLength(2)
  expect(statSync(path).mode & 0o777).toBe(0o644)
  expect(load('two').used).toBe(false)
})

test('a cache that was cut off or damaged is not used', () => {
  const { path, load } = withCache()
  const whole = readFileSync(path)
  for (const at of [0, whole.length / 2 - 9, whole.length - 1]) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 0xff
    writeFileSync(path, damaged)
    expect(load().used).toBe(false)
  }
  for (const length of [0, whole.length / 2, whole.length - 1]) {
    writeFileSync(path, whole.subarray(0, length))
    expect(load().used).toBe(false)
  }
  writeFileSync(path, whole)
  expect(load().used).toBe(true)
})

test('what V8 rejects is compiled, and made anew', () => {
  const { file, path, load } = withCache()
  // Another text: V8 remembers in its memory what it has compiled.
  appendFileSync(file, '// changed\n')
  writeCache(path, Buffer.alloc(1_000, 7))
  const rejected = load()
  expect(rejected.used).toBe(false)
  rejected.makeCache!()
  expect(load().used).toBe(true)
})

test('a cache that somebody else may have written is not used', () => {
  const { folder, path, load } = withCache()
  for (const mode of [0o664, 0o646]) {
    chmodSync(path, mode)
    expect(load().used).toBe(false)
  }
  chmodSync(path, 0o600)
  expect(load().used).toBe(true)
  if (process.getuid?.() === 0) {
    chownSync(path, 4_711, 4_711)
    expect(load().used).toBe(false)
    chownSync(path, 0, 0)
  }
  renameSync(path, join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), path)
  expect(load().used).toBe(false)
})

test('in a folder that cannot be written there is none, and nothing fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-'))
  writeFileSync(join(folder, 'file'), '')
  writeCache(join(folder, 'file', 'some.cache'), Buffer.alloc(8))
  expect(readdirSync(folder)).toEqual(['file'])
})

test('each set of options has its own cache, and a module to load is no such option', () => {
  const { load } = withCache()
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('NODE_OPTIONS', '--no-opt')
  const other = load()
  expect(other.used).toBe(false)
  other.makeCache!()
  expect(load().used).toBe(true)
  vi.stubEnv('NODE_OPTIONS', '--require=/some/module.cjs')
  expect(load().used).toBe(true)
  vi.stubEnv('NODE_OPTIONS', undefined)
  expect(load().used).toBe(true)
})

test('there are eight caches at most, and the oldest goes; other files stay', () => {
  const { folder, path, load } = withCache()
  writeFileSync(join(folder, 'some.txt'), '')
  writeFileSync(join(folder, 'other.cache'), '')
  for (let n = 1; n <= 7; n++) {
    writeFileSync(join(folder, `some.earlier-${n}.cache`), '')
    utimesSync(join(folder, `some.earlier-${n}.cache`), n, n)
  }
  // Of a process that was killed.
  writeFileSync(`${path}.4711`, '')
  utimesSync(`${path}.4711`, 0, 0)
  const caches = () => readdirSync(folder).filter((name) => name.startsWith('some.') && name.includes('.cache'))
  expect(caches()).toHaveLength(9)
  load('two').makeCache!()
  expect(caches()).toHaveLength(8)
  expect(caches()).not.toContain('some.earlier-1.cache')
  expect(caches()).toContain('some.earlier-2.cache')
  expect(load().used).toBe(true)
  expect(load('two').used).toBe(true)
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['other.cache', 'some.cjs', 'some.txt']))
})

test.each(['NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE'])('with %s the file is required', (name) => {
  const { load } = withCache()
  vi.stubEnv(name, '/nowhere')
  try {
    // Neither used nor made.
    expect(load('two')).toEqual({ used: true, makeCache: undefined })
  } finally {
    vi.unstubAllEnvs()
  }
})
