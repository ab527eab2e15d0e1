// A rough guard, no measurement: no-op jobs through a pool must not be slower than bare messages through child_process.fork,
// both with the same number of processes and of jobs outstanding, in the same run.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createPool } from 'prefork'

const PROCESSES = 2
const OUTSTANDING = 128
const WARM_UP_MS = 300
const MEASURE_MS = 2_000
const WANTED = 1.0
const TRIES = 3

const scratch = mkdtempSync(join(tmpdir(), 'prefork-bench-'))
const tasks = join(scratch, 'tasks.mjs')
const echo = join(scratch, 'echo.mjs')
writeFileSync(tasks, 'export const noop = (value) => value\n')
writeFileSync(echo, "process.on('message', (message) => process.send(message))\n")

/** Jobs per second of `call` with a fixed number outstanding. */
const measure = async (call) => {
  const lap = async (ms) => {
    const began = performance.now()
    const end = began + ms
    let jobs = 0
    const line = async () => {
      while (performance.now() < end) {
        await call(jobs)
        jobs++
      }
    }
    await Promise.all(Array.from({ length: OUTSTANDING }, line))
    return (1_000 * jobs) / (performance.now() - began)
  }
  await lap(WARM_UP_MS)
  return lap(MEASURE_MS)
}

const throughPool = async () => {
  const pool = await createPool({ tasks: pathToFileURL(tasks), workers: PROCESSES })
  try {
    return await measure((n) => pool.run('noop', [n]))
  } finally {
    await pool.close()
  }
}

const throughFork = async () => {
  const children = Array.from({ length: PROCESSES }, () => fork(echo))
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
  try {
    return await measure(call)
  } finally {
    for (const child of children) {
      child.kill()
      await once(child, 'exit')
    }
  }
}

let ok = false
try {
  for (let attempt = 1; attempt <= TRIES && !ok; attempt++) {
    const bare = await throughFork()
    const pool = await throughPool()
    const ratio = pool / bare
    ok = ratio >= WANTED
    console.log(`pool ${Math.round(pool)} jobs/s, bare fork ${Math.round(bare)} messages/s, ratio ${ratio.toFixed(2)} (wanted: ${WANTED.toFixed(1)})`)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = ok ? 0 : 1
