// `node scripts/simulate.js --scaling` bundles and runs this.
import { parseArgs } from 'node:util'
import { explore } from './explore.js'
import { table } from './table.js'

const HELP = `Simulation of how nodes scale: the rules of src/node/scaling over models of workers, CPUs and brokers.

  --runs N           plays N runs (1,000), each of a new seed
  --minutes N        plays runs for N minutes
  --seed S           the seed of the first; each further one has the next
  --first            ends at the first run with a fault
  --table            prints what some mixes of jobs give, in place of runs`

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    first: { type: 'boolean' },
    table: { type: 'boolean' },
    help: { type: 'boolean' },
    scaling: { type: 'boolean' },
  },
})

if (values.help === true) process.stdout.write(`${HELP}\n`)
else if (values.table === true) process.stdout.write(`${table()}\n`)
else {
  const seed = values.seed === undefined ? Date.now() & 0x3fff_ffff : Number(values.seed)
  const runs = values.runs === undefined ? (values.minutes === undefined ? 1_000 : Number.POSITIVE_INFINITY) : Number(values.runs)
  const time = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes) * 60_000
  const { runs: played, faults, nearest } = explore({ seed, runs, time, endOnFault: values.first === true })
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  const share = Math.round(nearest * 100)
  process.stdout.write(`${played} runs, ${faults.length} with faults, seed ${seed}; the wait nearest to its bound was ${share} % of it\n`)
  if (faults.length > 0) process.exitCode = 1
}
