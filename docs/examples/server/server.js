// An HTTP server that embeds a prefork pool. `npm run demo` in the root of the repository builds prefork and starts it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPool } from 'prefork'
import { createApp } from './app.js'
import { Feed } from './feed.js'
import { Journal } from './journal.js'
import { Load } from './load.js'

const MB = 1024 * 1024
const HOST = process.env.HOST ?? '127.0.0.1'
const LOAD = Number(process.env.LOAD ?? 5) // requests a second, from the start on
const CLOSE_TIMEOUT = 10_000

const options = {
  tasks: new URL('./tasks.js', import.meta.url),
  workers: Number(process.env.WORKERS) || Math.min(8, Math.max(4, availableParallelism())),
  maxQueue: 200, // above it, requests get a 503 at once
  timeLimit: 30_000, // no task may occupy a worker longer; most have lower limits of their own
  maxMemoryPerWorker: 400 * MB, // replaced after its job
  hardMemoryLimit: 600 * MB, // killed in mid-job
  heartbeatInterval: 250, // memory is measured this often; without a live page the default of a second is enough
}

const pool = await createPool(options)

const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()
setInterval(() => delay.reset(), 10_000).unref()

const load = new Load()
const limits = { maxQueue: options.maxQueue, maxMemory: options.maxMemoryPerWorker, hardMemory: options.hardMemoryLimit }
const feed = new Feed(() => ({ limits, pid: process.pid, entries: journal.entries }), snapshot)
const journal = new Journal(pool, options.workers, (entry) => feed.send('entry', entry))
pool.on('workerExit', ({ pid, exitCode, signal, expected }) => {
  if (!expected) console.log(`worker process ${pid} died: ${signal ?? `exit code ${exitCode}`}`)
})

/** The response of /stats, and the data of the page. */
function snapshot() {
  const loopDelay = Math.max(0, delay.percentile(99) / 1e6 - 10)
  const host = { pid: process.pid, uptime: Math.round(process.uptime() * 1_000), rss: process.memoryUsage.rss(), loopDelay: loopDelay || 0 }
  return { time: Date.now(), host, pool: pool.stats(), load: load.snapshot() }
}

const server = createServer(createApp({ pool, feed, load, snapshot }))

async function listen() {
  // A requested port that is in use is an error; the default moves to the next free one.
  const asked = process.env.PORT
  const [first, last] = asked ? [Number(asked), Number(asked)] : [3_000, 3_020]
  for (let port = first; ; port++) {
    try {
      server.listen(port, HOST)
      await once(server, 'listening')
      return `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${server.address().port}`
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || port === last) throw error
    }
  }
}

/** Finishes pending requests, then ends the workers. Both together take at most CLOSE_TIMEOUT. */
async function stop() {
  const deadline = performance.now() + CLOSE_TIMEOUT
  const { queued, running } = pool.stats()
  const jobs = queued + running
  console.log(`\nfinishing ${jobs} ${jobs === 1 ? 'job' : 'jobs'} (Ctrl-C again to stop at once)`)
  load.stop()
  feed.close()
  // The requests first, then the pool: a request that is still reading its body has not yet submitted its job.
  const closed = once(server, 'close')
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  await Promise.race([closed, sleep(CLOSE_TIMEOUT, undefined, { ref: false })])
  clearInterval(sweep)
  await pool.close({ timeout: Math.max(1, deadline - performance.now()) })
  server.closeAllConnections()
  load.close()
  const { succeeded, failed, cancelled, lost } = pool.stats().totals
  console.log(`stopped: ${succeeded} jobs succeeded, ${failed} failed, ${cancelled} cancelled, ${lost} lost`)
}

let lastSignal = Number.NEGATIVE_INFINITY
let signals = 0

async function onSignal() {
  // The terminal and `npm run` both deliver one Ctrl-C: signals within half a second count as one.
  const now = performance.now()
  if (now - lastSignal < 500) return
  lastSignal = now
  signals++
  if (signals === 1) return stop()
  console.log('\nstopping at once: running jobs are ended')
  await pool.terminate()
  await sleep(100) // for the responses of these requests
  server.closeAllConnections()
}

try {
  const url = await listen()
  load.aim(url)
  if (LOAD > 0) load.start(LOAD)
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal)
  console.log(`prefork demo: ${url}  (${options.workers} workers, Ctrl-C stops)`)
} catch (error) {
  console.error(error.code === 'EADDRINUSE' ? `port ${error.port} is taken; choose another one, for example PORT=3001` : error.message)
  process.exitCode = 1
  await pool.close()
}
