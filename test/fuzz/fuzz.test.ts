/** `npm run test:fuzz -- --minutes 10` runs longer. */
import { describe, expect, it } from 'vitest'
import { fuzzChild, readsCorpus } from './run-child.js'

const minutes = Number(process.env.PREFORK_FUZZ_MINUTES ?? 0)
const seed = Number(process.env.PREFORK_SEED ?? Date.now() % 1_000_000_000)
const RANDOM_MS = minutes > 0 ? minutes * 60_000 : 300

describe('promise 7: a reader of received bytes', () => {
  const run = fuzzChild()

  // The slow entries: fuzz.long.test.ts.
  readsCorpus(run, false)

  it(`survives random bytes, seed ${seed}`, { timeout: RANDOM_MS + 120_000 }, async () => {
    if (minutes > 0) console.log(`fuzz: seed ${seed}, ${minutes} minutes`)
    const { done, ...ending } = await run(['random', String(seed), String(RANDOM_MS)])
    const again = `repeat with: PREFORK_SEED=${/seed (\d+)/.exec(ending.at)?.[1] ?? seed} npm run test:fuzz -- --minutes 0.1`
    expect(ending, `it was at ${ending.at}; ${again}`).toMatchObject({ exitCode: 0, signal: undefined, stderr: '' })
    if (minutes > 0) console.log(`fuzz: ${done!.count} inputs, the last at ${ending.at}, resident memory has grown by ${done!.grown} bytes`)
    expect(done!.count).toBeGreaterThanOrEqual(1_000)
  })
})
