// Applies each mutation of test/mutations/ to a copy of the tree and checks that a test catches it: those of promises.js by their fault
// test, those of simulation.js and blind.js by the simulation alone, those of scaling.js by the simulation of how nodes scale or a unit test, those of queue.js by
// the simulation of the stores, and those of queue-proofs.js by a proof of the soak of the queue (both: Node 22.13 or later).
// `npm run test:mutations [-- --list promises|simulation|blind|scaling|queue|queue-proofs] [--promise 5] [--only TEXT]`.
import { isBuiltin } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { mutations as blind } from '../test/mutations/blind.js'
import { mutations as promises } from '../test/mutations/promises.js'
import { mutations as queue } from '../test/mutations/queue.js'
import { mutations as queueProofs } from '../test/mutations/queue-proofs.js'
import { mutations as scaling } from '../test/mutations/scaling.js'
import { mutations as simulation } from '../test/mutations/simulation.js'
import { byFaultTest } from './mutations/by-fault-test.js'
import { byQueueProof } from './mutations/by-queue-proof.js'
import { byScalingSimulation, bySimulation, byStoreSimulation } from './mutations/by-simulation.js'
import { Copy } from './mutations/copy.js'

const LISTS = {
  promises: { mutations: promises, run: byFaultTest },
  simulation: { mutations: simulation, run: bySimulation },
  blind: { mutations: blind, run: bySimulation },
  scaling: { mutations: scaling, run: byScalingSimulation },
  queue: { mutations: queue, run: byStoreSimulation },
  'queue-proofs': { mutations: queueProofs, run: byQueueProof },
}

const { values } = parseArgs({ options: { list: { type: 'string' }, promise: { type: 'string' }, only: { type: 'string' } } })
const list = values.promise === undefined ? values.list : 'promises'
if (list !== undefined && !Object.hasOwn(LISTS, list)) throw new Error(`There is no list '${list}'; there are: ${Object.keys(LISTS).join(', ')}.`)

const isWanted = ({ promise, breaks }) =>
  (values.promise === undefined || promise === Number(values.promise)) && (values.only === undefined || breaks.includes(values.only))

// Those of the store in a file run only where it does.
const skipped = list === undefined && !isBuiltin('node:sqlite') ? ['queue', 'queue-proofs'] : []
if (skipped.length > 0) console.log(`!!! SKIPPED: the lists ${skipped.join(' and ')} need Node 22.13 or later.`)

const wanted = Object.entries(LISTS)
  .filter(([name]) => (list === undefined || list === name) && !skipped.includes(name))
  .flatMap(([name, { mutations, run }]) => mutations.filter(isWanted).map((mutation) => ({ name, mutation, run })))

const copy = new Copy(fileURLToPath(new URL('..', import.meta.url)))
let caught = 0
try {
  // A simulation that fails without a mutation would seem to catch all of them.
  for (const simulation of [bySimulation, byStoreSimulation, byScalingSimulation]) {
    if (!wanted.some(({ run }) => run === simulation)) continue
    const { caught: broken, how } = await simulation(copy)
    if (broken) throw new Error(`The simulation fails without a mutation: ${how}`)
  }
  for (const { name, mutation, run } of wanted) {
    const outcome = await copy.mutated(mutation, () => run(copy, mutation))
    if (outcome?.caught) caught++
    const status = outcome === undefined ? 'stale' : outcome.caught ? 'caught' : 'SURVIVED'
    const what = mutation.promise === undefined ? name : `promise ${mutation.promise}`
    console.log(`${status.padEnd(8)} ${what}: ${mutation.breaks} (${outcome?.how ?? `\`find\` does not occur exactly once in ${mutation.file}`})`)
  }
} finally {
  copy.remove()
}
console.log(`${caught} of ${wanted.length} caught`)
process.exitCode = caught === wanted.length && wanted.length > 0 ? 0 : 1
