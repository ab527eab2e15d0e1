// Guards against a gross loss of throughput; it is no measurement. Compares no-op jobs of a default pool with bare messages of
// child_process.fork with the same serialization ('advanced': structured clone), by the code of the benchmark. On an idle machine of two
// cores the ratio is far above the bound; on a busy one it must reach it in one of three tries. Needs no packages of peers.
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const WANTED = 2
const TRIES = 3
/** Few enough that three tries take less than a minute. */
const ROUNDS = 2
const TRY_MS = 60_000
/** Several times what its smoke takes. */
const SCALING_MS = 180_000
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

// That the benchmark of Faktory still runs, on the stand-in: its figures are not judged.
const faktory = fileURLToPath(new URL('../native-bench/faktory/run.js', import.meta.url))
const env = { FAKTORY_URL: undefined }
const { exitCode } = await execa(process.execPath, [faktory, '--smoke'], { stdio: ['ignore', 'inherit', 'inherit'], reject: false, timeout: TRY_MS, env })

// The same for the benchmark of scaling: with RabbitMQ where it is reached, and the queue in a file on a Node that has it.
const scaling = fileURLToPath(new URL('../native-bench/scaling/run.js', import.meta.url))
const { exitCode: scalingCode } = await execa(process.execPath, [scaling, '--smoke'], {
  stdio: ['ignore', 'inherit', 'inherit'],
  reject: false,
  timeout: SCALING_MS,
  env,
})
process.exitCode = ok && exitCode === 0 && scalingCode === 0 ? 0 : 1
