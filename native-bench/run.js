// Every pool in turn, round after round, each in a fresh process; medians with least and most, and ratios to prefork's peers.
// node native-bench/run.js [--rounds 3] [--seconds 2] [--pools prefork,piscina-threads]
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = fileURLToPath(new URL('.', import.meta.url))
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    pools: { type: 'string', default: 'prefork,poolifier-threads,piscina-threads,jest-worker-processes' },
  },
})
if (!existsSync(`${here}node_modules`)) {
  const { status } = spawnSync('npm', ['ci', '--prefix', here], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
const pools = values.pools.split(',')

const measure = (file, ...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${here}cases/${file}`, ...args], { encoding: 'utf8', timeout: 120_000 })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} failed:\n${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1))
}

const spread = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b)
  return { median: sorted[Math.floor(sorted.length / 2)], least: sorted[0], most: sorted.at(-1) }
}

const results = new Map(pools.map((name) => [name, { perSecond: [], hostMicrosPerJob: [], startMs: [] }]))
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const name of pools) {
    process.stderr.write(`round ${round}: ${name}\n`)
    const { perSecond, hostMicrosPerJob } = measure('noop.js', name, '2', '128', values.seconds)
    const result = results.get(name)
    result.perSecond.push(perSecond)
    result.hostMicrosPerJob.push(hostMicrosPerJob)
    result.startMs.push(measure('start.js', name).ms)
  }
}

const ours = spread(results.get('prefork')?.perSecond ?? [Number.NaN]).median
const shown = ({ median, least, most }, digits) => `${median.toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`
console.log(`Node ${process.version}, ${values.rounds} rounds; medians (least to most)\n`)
console.log('| pool | no-op jobs/s, 2 workers, 128 outstanding | prefork is x times that | host µs per job | create to first result, ms |')
console.log('|---|---|---|---|---|')
for (const [name, { perSecond, hostMicrosPerJob, startMs }] of results) {
  const jobs = spread(perSecond)
  console.log(`| ${name} | ${shown(jobs, 0)} | ${(ours / jobs.median).toFixed(2)} | ${shown(spread(hostMicrosPerJob), 1)} | ${shown(spread(startMs), 0)} |`)
}
