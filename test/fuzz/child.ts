/**
 * A process that is fed with junk. Arguments: 'corpus', or 'random' with seed and ms. It says what it is about to do before it
 * does it, so that whoever waits knows what it died or hangs of.
 */
import fc from 'fast-check'
import { inputs } from './arbitraries.js'
import { entries, type Target, targets } from './corpus.js'
import { doors } from './targets.js'
import { watchShared } from './untouched.js'

/** What the runtime may load when it meets a kind of value for the first time; what must be seen is a hundred times that. */
const ALLOWED = 4_000_000

const say = (word: string, value: unknown): void => {
  process.stdout.write(`${word} ${JSON.stringify(value)}\n`)
}

/** CPU time, because the machine has others to serve; far above what the largest array with holes costs, far below a hang. */
const STEP_MS = 6_000
const RUNS = 250

const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

const touched = watchShared()

/** One input through one door: in its time, within its memory, leaving everything else as it was. */
const probe = (target: Target, bytes: Buffer, cuts: readonly number[]): void => {
  const began = cpu()
  const { arrayBuffers } = process.memoryUsage()
  doors[target](bytes, cuts)
  const took = cpu() - began
  if (took > STEP_MS) throw new Error(`${bytes.length} bytes took ${took} ms`)
  const grown = process.memoryUsage().arrayBuffers - arrayBuffers
  if (grown > ALLOWED + 40 * bytes.length) throw new Error(`${bytes.length} bytes have allocated ${grown}`)
}

const runCorpus = (): number => {
  let count = 0
  for (const target of targets) {
    for (const [name, bytes] of entries(target)) {
      say('at', `${target}: ${name}`)
      probe(target, bytes, [1, 3, 4, 5, 19, 20, 21, bytes.length >> 1])
      const changed = touched()
      if (changed.length > 0) throw new Error(`touched: ${changed.join(', ')}`)
      count += 1
    }
  }
  return count
}

const runRandom = (seed: number, ms: number): number => {
  let count = 0
  const end = performance.now() + ms
  for (let batch = 0; batch === 0 || performance.now() < end; batch += 1) {
    for (const target of targets) {
      say('at', `${target}: seed ${seed + batch}`)
      fc.assert(
        fc.property(inputs[target], ([bytes, cuts]) => probe(target, bytes, cuts)),
        { seed: seed + batch, numRuns: RUNS },
      )
      const changed = touched()
      if (changed.length > 0) throw new Error(`touched: ${changed.join(', ')}`)
      count += RUNS
    }
  }
  return count
}

const [what, seed, ms] = process.argv.slice(2)
const before = process.memoryUsage.rss()
const count = what === 'corpus' ? runCorpus() : runRandom(Number(seed), Number(ms))
say('done', { count, grown: process.memoryUsage.rss() - before })
