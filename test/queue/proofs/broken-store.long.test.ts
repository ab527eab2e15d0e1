/** The proofs can fail: they find what a store that answers too early has lost. The other variants: `npm run test:mutations -- --list queue-proofs`. */
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { describeProofs } from './prove.js'

interface Outcome {
  readonly caught: boolean
  readonly how: string
}

interface Scripts {
  readonly mutations: readonly { readonly breaks: string }[]
  readonly Copy: new (root: string) => { mutated(mutation: unknown, run: () => Promise<Outcome>): Promise<Outcome | undefined>; remove(): void }
  byQueueProof(copy: unknown, mutation: unknown): Promise<Outcome>
}

const load = async (path: string): Promise<Scripts> => (await import(new URL(`../../../${path}`, import.meta.url).href)) as Scripts

describeProofs('a store that answers before COMMIT', () => {
  it('is found to have lost what producers were told to be stored', async () => {
    const [{ mutations }, { Copy }, { byQueueProof }] = await Promise.all([
      load('test/mutations/queue-proofs.js'),
      load('scripts/mutations/copy.js'),
      load('scripts/mutations/by-queue-proof.js'),
    ])
    const mutation = mutations.find(({ breaks }) => breaks === 'a producer is answered before COMMIT')
    const copy = new Copy(fileURLToPath(new URL('../../..', import.meta.url)))
    try {
      const outcome = await copy.mutated(mutation, () => byQueueProof(copy, mutation))
      expect(outcome).toMatchObject({ caught: true, how: expect.stringContaining('producers: lost') })
    } finally {
      copy.remove()
    }
  }, 400_000)
})
