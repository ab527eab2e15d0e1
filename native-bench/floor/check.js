// Checks that the floor never deadlocks, whatever the sizes and whichever side is slow: with full pipes in one direction, the other, and both.
// The floor exits with an error if a payload does not name its job at both ends, or a job is not accepted once, before its result.
// Run it with `npm run check:floor` in native-bench.
import { fileURLToPath } from 'node:url'
import { execaSync } from 'execa'

const here = fileURLToPath(new URL('.', import.meta.url))
const KB = 1_024
const MB = 1_024 * KB
const TIMEOUT_MS = 120_000

const built = execaSync('make', ['-C', here, '--no-print-directory'], { reject: false })
if (built.failed || /warning/.test(built.stderr)) {
  process.stderr.write(`the floor cannot be built without a warning:\n${built.message ?? built.stderr}\n`)
  process.exit(1)
}

/** @type {[name: string, size: number, jobs: number][]} */
const sizes = [
  ['nothing', 0, 200_000],
  ['1 B', 1, 50_000],
  ['100 B', 100, 50_000],
  ['8 KB + 1', 8 * KB + 1, 10_000],
  ['64 KB', 64 * KB, 3_000],
  ['256 KB', 256 * KB, 800],
  ['1 MB', MB, 256],
]
/** @type {Record<string, (size: number) => string[]>} */
const directions = {
  'both ways': (size) => ['--in', `${size}`, '--out', `${size}`],
  'to the workers': (size) => ['--in', `${size}`, '--out', '9'],
  'to the host': (size) => ['--in', '9', '--out', `${size}`],
}
/** @type {Record<string, string[]>} */
const stalls = { 'nobody slow': [], 'a slow host': ['--stall-host', '2000'], 'slow workers': ['--stall-worker', '2000'] }

let failed = 0
for (const [name, size, jobs] of sizes) {
  for (const [direction, flags] of Object.entries(directions)) {
    for (const [stall, slow] of Object.entries(stalls)) {
      const args = ['throughput', '--workers', '2', '--outstanding', '64', '--jobs', `${jobs}`, ...flags(size), ...slow]
      const { failed: ended, stdout, message } = execaSync(`${here}floor`, args, { reject: false, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
      const ok = !ended && JSON.parse(stdout).jobs === jobs
      if (!ok) failed++
      console.log(`${ok ? 'ok' : 'FAILED'}: ${name} ${direction}, 64 outstanding, ${stall}${ok ? '' : `: ${message ?? stdout}`}`)
    }
  }
}
console.log(failed === 0 ? 'all passed' : `${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
