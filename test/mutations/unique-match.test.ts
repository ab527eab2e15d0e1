import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

interface Mutation {
  readonly breaks: string
  readonly file: string
  readonly find: string
}

/** A mutation without a match changes nothing, which only the long run of all mutations would report. */
it.each(['promises', 'simulation', 'blind', 'scaling', 'queue', 'queue-proofs'])('each mutation of %s matches the source exactly once', async (list) => {
  const { mutations } = (await import(new URL(`${list}.js`, import.meta.url).href)) as { mutations: Mutation[] }
  expect(mutations.length).toBeGreaterThan(0)
  const stale = mutations.filter(({ file, find }) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(find).length !== 2)
  expect(stale.map(({ file, breaks }) => `${file}: ${breaks}`)).toEqual([])
})
