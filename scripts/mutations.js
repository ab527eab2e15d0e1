// Applies each broken variant of test/mutations/ in a copy of the tree and demands that it is caught: those of promises.js by a
// fault test each, those of simulation.js and blind.js by the simulation alone.
// `npm run test:mutations [-- --list promises|simulation|blind] [--promise 5] [--only TEXT]`.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { mutations as blind } from '../test/mutations/blind.js'
import { mutations as promises } from '../test/mutations/promises.js'
import { mutations as simulation } from '../test/mutations/simulation.js'
import { byFaultTest } from './mutations/by-fault-test.js'
import { bySimulation } from './mutations/by-simulation.js'
import { Copy } from './mutations/copy.js'

const LISTS = {
  promises: { mutations: promises, judge: byFaultTest },
  simulation: { mutations: simulation, judge: bySimulation },
  blind: { mutations: blind, judge: bySimulation },
}

const { values } = parseArgs({ options: { list: { type: 'string' }, promise: { type: 'string' }, only: { type: 'string' } } })
const list = values.promise === undefined ? values.list : 'promises'
if (list !== undefined && !Object.hasOwn(LISTS, list)) throw new Error(`There is no list '${list}'; there are: ${Object.keys(LISTS).join(', ')}.`)

const isWanted = ({ promise, breaks }) =>
  (values.promise === undefined || promise === Number(values.promise)) && (values.only === undefined || breaks.includes(values.only))

const wanted = Object.entries(LISTS)
  .filter(([name]) => list === undefined || list === name)
  .flatMap(([name, { mutations, judge }]) => mutations.filter(isWanted).map((mutation) => ({ name, mutation, judge })))

const copy = new Copy(fileURLToPath(new URL('..', import.meta.url)))
let caught = 0
try {
  // Whatever fails without a mutation would be taken for the catch of many.
  if (wanted.some(({ judge }) => judge === bySimulation)) {
    const { caught: broken, how } = await bySimulation(copy)
    if (broken) throw new Error(`The code as it is fails already: ${how}`)
  }
  for (const { name, mutation, judge } of wanted) {
    const outcome = await copy.broken(mutation, () => judge(copy, mutation))
    if (outcome?.caught) caught++
    const word = outcome === undefined ? 'stale' : outcome.caught ? 'caught' : 'SURVIVED'
    const what = mutation.promise === undefined ? name : `promise ${mutation.promise}`
    console.log(`${word.padEnd(8)} ${what}: ${mutation.breaks} (${outcome?.how ?? `its place in ${mutation.file} is gone, or not unique`})`)
  }
} finally {
  copy.remove()
}
console.log(`${caught} of ${wanted.length} caught`)
process.exitCode = caught === wanted.length && wanted.length > 0 ? 0 : 1
