/** Feeds hostile bytes to every reader, in child processes: a crash, a hang or an unbounded allocation of the child fails the test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { corpusOf } from './corpus.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** A child without output for so long has hung. */
const SILENCE_MS = 30_000
/** MB of heap: enough for every value within the limits. */
const HEAP_MB = 600

const runChild = async (bundle: string, args: readonly string[]) => {
  const typed = [`--max-old-space-size=${HEAP_MB}`, '--enable-source-maps', bundle, ...args]
  const child = execa(process.execPath, typed, { reject: false, buffer: { stdout: false }, killSignal: 'SIGKILL' })
  /** The last step that it printed. */
  let at = ''
  let done: { count: number; grown: number } | undefined
  const silence = setTimeout(() => child.kill(), SILENCE_MS)
  for await (const line of child) {
    silence.refresh()
    if (line.startsWith('at ')) at = line.slice(3)
    if (line.startsWith('done ')) done = JSON.parse(line.slice(5))
  }
  const { exitCode, signal, stderr } = await child
  clearTimeout(silence)
  return { exitCode, signal, at, done, stderr: stderr.slice(-8_000) }
}

/** Bundles the child for the tests of a suite. Returns a function that runs it. */
export const fuzzChild = () => {
  const directory = mkdtempSync(join(tmpdir(), 'prefork-fuzz-'))
  const bundle = join(directory, 'child.mjs')
  beforeAll(() => execa(process.execPath, [join(root, 'scripts/fuzz-bundle.js'), bundle]))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  return (args: readonly string[]) => runChild(bundle, args)
}

/** Tests the slow entries of the corpus, or the others. */
export const readsCorpus = (run: ReturnType<typeof fuzzChild>, slow: boolean): void => {
  it(`survives every ${slow ? 'slow' : 'other'} entry of the corpus`, { timeout: 120_000 }, async () => {
    const { done, ...ending } = await run([slow ? 'slow' : 'corpus'])
    expect(ending, `it was at ${ending.at}`).toMatchObject({ exitCode: 0, signal: undefined, stderr: '' })
    expect(done!.count).toBe(corpusOf(slow).length)
  })
}
