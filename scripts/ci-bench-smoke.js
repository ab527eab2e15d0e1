// A rough guard, no measurement: no-op jobs through a pool with its defaults against bare messages of child_process.fork with the same promise
// of serialization ('advanced': structured clone), by the benchmark's own code and in one run. On a quiet machine of two cores the ratio is
// far above the bound; what is left of it where others work beside us must still be seen in one of three tries. Needs no peer's package.
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const WANTED = 2
const TRIES = 3
/** Three tries stay within the minute that this may take. */
const ROUNDS = 2
const TRY_MS = 60_000
const POOL = 'prefork'
const BARE = 'fork-advanced'

const bench = fileURLToPath(new URL('../native-bench/run.js', import.meta.url))
const args = ['--quick', '--only', 'noop', '--peers', BARE, '--no-floors', '--rounds', String(ROUNDS), '--json']

const measure = async () => {
  const { stdout } = await execa(process.execPath, [bench, ...args], { timeout: TRY_MS })
  const [cells] = Object.values(JSON.parse(stdout).results.noop)
  const medianOf = (name) => {
    const cell = cells[name]
    if (cell.metrics === undefined) throw new Error(`${name} has no figure: ${cell.reason}`)
    return cell.metrics.perSecond.median
  }
  return [medianOf(POOL), medianOf(BARE)]
}

let ok = false
for (let attempt = 1; attempt <= TRIES && !ok; attempt++) {
  const [pool, bare] = await measure()
  const ratio = pool / bare
  ok = ratio >= WANTED
  console.log(`pool ${Math.round(pool)} jobs/s, bare fork ${Math.round(bare)} messages/s, ratio ${ratio.toFixed(2)} (wanted: ${WANTED.toFixed(1)})`)
}
process.exitCode = ok ? 0 : 1
