/**
 * Runs the fuzz in a process of its own. Arguments: 'corpus', 'slow' for the slow entries of the corpus, or 'random' with seed and ms. It prints each step before it takes it,
 * so that the parent knows the input of a crash or a hang.
 */
import fc from 'fast-check'
import { inputs } from './arbitraries.js'
import { corpusOf, type Target, targets } from './corpus.js'
import { snapshotSharedState } from './shared-state.js'
import { readers } from './targets.js'

/** Bytes that Node may allocate when it meets a kind of value for the first time; a defect allocates a hundred times more. */
const ALLOWED = 4_000_000

const print = (kind: string, value: unknown): void => {
  process.stdout.write(`${kind} ${JSON.stringify(value)}\n`)
}

/** CPU time of one input, which a busy machine does not prolong; far above the cost of the largest sparse array, far below a hang. */
const STEP_MS = 6_000
const RUNS = 250

const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

const changedState = snapshotSharedState()

/** Reads one input: checks its time and its memory. */
const probe = (target: Target, bytes: Buffer, cuts: readonly number[]): void => {
  const began = cpu()
  const { arrayBuffers } = process.memoryUsage()
  readers[target](bytes, cuts)
  const took = cpu() - began
  if (took > STEP_MS) throw new Error(`${bytes.length} bytes took ${took} ms`)
  const grown = process.memoryUsage().arrayBuffers - arrayBuffers
  if (grown > ALLOWED + 40 * bytes.length) throw new Error(`${bytes.length} bytes have allocated ${grown}`)
}

const runCorpus = (slow: boolean): number => {
  let count = 0
  for (const [target, name, bytes] of corpusOf(slow)) {
    print('at', `${target}: ${name}`)
    probe(target, bytes, [1, 3, 4, 5, 19, 20, 21, bytes.length >> 1])
    const changed = changedState()
    if (changed.length > 0) throw new Error(`changed: ${changed.join(', ')}`)
    count += 1
  }
  return count
}

const runRandom = (seed: number, ms: number): number => {
  let count = 0
  const end = performance.now() + ms
  for (let batch = 0; batch === 0 || performance.now() < end; batch += 1) {
    for (const target of targets) {
      print('at', `${target}: seed ${seed + batch}`)
      fc.assert(
        fc.property(inputs[target], ([bytes, cuts]) => probe(target, bytes, cuts)),
        { seed: seed + batch, numRuns: RUNS },
      )
      const changed = changedState()
      if (changed.length > 0) throw new Error(`changed: ${changed.join(', ')}`)
      count += RUNS
    }
  }
  return count
}

const [what, seed, ms] = process.argv.slice(2)
const before = process.memoryUsage.rss()
const count = what === 'random' ? runRandom(Number(seed), Number(ms)) : runCorpus(what === 'slow')
print('done', { count, grown: process.memoryUsage.rss() - before })
