/**
 * Feeds hostile bytes to every reader, in child processes: a crash, a hang or an unbounded allocation of the child fails the test.
 * `npm run test:fuzz -- --minutes 10` runs longer.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entries, targets } from './corpus.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const minutes = Number(process.env.PREFORK_FUZZ_MINUTES ?? 0)
const seed = Number(process.env.PREFORK_SEED ?? Date.now() % 1_000_000_000)
const RANDOM_MS = minutes > 0 ? minutes * 60_000 : 1_000
/** A child without output for so long has hung. */
const SILENCE_MS = 30_000
/** MB of heap: enough for every value within the limits. */
const HEAP_MB = 600

const run = async (bundle: string, args: readonly string[]) => {
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

describe('promise 7: a reader of received bytes', () => {
  const directory = mkdtempSync(join(tmpdir(), 'prefork-fuzz-'))
  const bundle = join(directory, 'child.mjs')
  beforeAll(() => execa(process.execPath, [join(root, 'scripts/fuzz-bundle.js'), bundle]))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  it('survives every entry of the corpus', { timeout: 120_000 }, async () => {
    const { done, ...ending } = await run(bundle, ['corpus'])
    expect(ending, `it was at ${ending.at}`).toMatchObject({ exitCode: 0, signal: undefined, stderr: '' })
    expect(done!.count).toBe(targets.flatMap((target) => entries(target)).length)
  })

  it(`survives random bytes, seed ${seed}`, { timeout: RANDOM_MS + 120_000 }, async () => {
    if (minutes > 0) console.log(`fuzz: seed ${seed}, ${minutes} minutes`)
    const { done, ...ending } = await run(bundle, ['random', String(seed), String(RANDOM_MS)])
    const again = `repeat with: PREFORK_SEED=${/seed (\d+)/.exec(ending.at)?.[1] ?? seed} npm run test:fuzz -- --minutes 0.1`
    expect(ending, `it was at ${ending.at}; ${again}`).toMatchObject({ exitCode: 0, signal: undefined, stderr: '' })
    if (minutes > 0) console.log(`fuzz: ${done!.count} inputs, the last at ${ending.at}, resident memory has grown by ${done!.grown} bytes`)
    expect(done!.count).toBeGreaterThanOrEqual(1_000)
  })
})
