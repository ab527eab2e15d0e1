// scripts/simulate.js --scaling bundles and runs this.
import { parseArgs } from 'node:util'
import { exploreScaling, repeat } from './explore.js'
import { report } from './table.js'

const HELP = `Simulation of how nodes scale: the rules of src/node/scaling over models of workers, CPUs and brokers.

  --runs N           plays N random farms (default 1,000)
  --minutes N        plays new random farms for N minutes
  --seed S           the seed of the first; each further one has the next
  --first            with --runs: ends at the first fault
  --table            prints what some mixes give, in place of random farms`

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    first: { type: 'boolean' },
    table: { type: 'boolean' },
    help: { type: 'boolean' },
    scaling: { type: 'boolean' },
  },
})

if (values.help === true) process.stdout.write(`${HELP}\n`)
else if (values.table === true) process.stdout.write(`${report()}\n`)
else {
  const seed = values.seed === undefined ? Date.now() & 0x3fff_ffff : Number(values.seed)
  const { runs, failures, text } = exploreScaling({
    seed,
    runs: values.minutes === undefined ? Number(values.runs) : Number.POSITIVE_INFINITY,
    minutes: Number(values.minutes ?? Number.POSITIVE_INFINITY),
    first: values.first === true,
  })
  process.stdout.write(`${text}\n${runs} runs, ${failures} with faults, seed ${seed}\n`)
  if (failures > 0) process.exitCode = 1
}
void repeat
