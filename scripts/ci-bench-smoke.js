// A rough guard, no measurement (that is native-bench): no-op jobs through a pool must not be slower than bare messages
// through child_process.fork with the same serialization promise ('advanced': structured clone), the same number of processes
// and the same number outstanding. The two take turns in short laps, so that a busy machine disturbs both alike.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createPool } from 'prefork'

const PROCESSES = 2
const OUTSTANDING = 128
const LAPS = 8
const LAP_MS = 250
const WANTED = 1.0
const TRIES = 3

const scratch = mkdtempSync(join(tmpdir(), 'prefork-bench-'))
const tasks = join(scratch, 'tasks.mjs')
const echo = join(scratch, 'echo.mjs')
writeFileSync(tasks, 'export const noop = (value) => value\n')
writeFileSync(echo, "process.on('message', (message) => process.send(message))\n")

const startPool = async () => {
  const pool = await createPool({ tasks: pathToFileURL(tasks), workers: PROCESSES })
  return { call: (n) => pool.run('noop', [n]), stop: () => pool.close() }
}

const startFork = async () => {
  const children = Array.from({ length: PROCESSES }, () => fork(echo, { serialization: 'advanced' }))
  const waiting = new Map()
  let id = 0
  for (const child of children) {
    child.on('message', (message) => {
      waiting.get(message.id)(message.value)
      waiting.delete(message.id)
    })
  }
  const call = (value) =>
    new Promise((resolve) => {
      const message = { id: ++id, value }
      waiting.set(message.id, resolve)
      children[id % PROCESSES].send(message)
    })
  const stop = () =>
    Promise.all(
      children.map((child) => {
        child.kill()
        return once(child, 'exit')
      }),
    )
  return { call, stop }
}

/** Runs one lap; resolves with jobs and ms. */
const lap = async (call) => {
  const began = performance.now()
  const end = began + LAP_MS
  let jobs = 0
  const line = async () => {
    while (performance.now() < end) {
      await call(jobs)
      jobs++
    }
  }
  await Promise.all(Array.from({ length: OUTSTANDING }, line))
  return { jobs, ms: performance.now() - began }
}

const compare = async () => {
  const sides = [await startPool(), await startFork()]
  const sums = sides.map(() => ({ jobs: 0, ms: 0 }))
  for (let n = -1; n < LAPS; n++) {
    for (const [i, side] of sides.entries()) {
      const { jobs, ms } = await lap(side.call)
      // The first lap warms up.
      if (n < 0) continue
      sums[i].jobs += jobs
      sums[i].ms += ms
    }
  }
  for (const side of sides) await side.stop()
  return sums.map(({ jobs, ms }) => (1_000 * jobs) / ms)
}

let ok = false
try {
  for (let attempt = 1; attempt <= TRIES && !ok; attempt++) {
    const [pool, bare] = await compare()
    const ratio = pool / bare
    ok = ratio >= WANTED
    console.log(`pool ${Math.round(pool)} jobs/s, bare fork ${Math.round(bare)} messages/s, ratio ${ratio.toFixed(2)} (wanted: ${WANTED.toFixed(1)})`)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = ok ? 0 : 1
