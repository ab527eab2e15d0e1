// An HTTP server that embeds a prefork pool. `npm run demo` in the root of the repository builds prefork and starts it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createPool } from 'prefork'
import { createApp } from './app.js'
import { Feed } from './feed.js'
import { Journal } from './journal.js'
import { Load } from './load.js'

const MB = 1024 * 1024
const HOST = process.env.HOST ?? '127.0.0.1'
const CLOSE_TIMEOUT = 10_000

const options = {
  tasks: new URL('./tasks.js', import.meta.url),
  workers: Number(process.env.WORKERS) || Math.min(8, Math.max(4, availableParallelism())),
  maxQueue: 200, // beyond it: 503 at once, instead of answers that come too late
  timeLimit: 30_000, // no task of this server may hold a worker longer; most have limits of their own
  maxMemoryPerWorker: 400 * MB, // replaced after its job
  hardMemoryLimit: 600 * MB, // killed in mid-job
  heartbeatInterval: 250, // memory is looked at this often; the default of a second would do for a server without a live page
}

const pool = await createPool(options)

const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()
setInterval(() => delay.reset(), 10_000).unref()

const load = new Load()
const limits = { maxQueue: options.maxQueue, maxMemory: options.maxMemoryPerWorker, hardMemory: options.hardMemoryLimit }
const feed = new Feed(() => ({ limits, pid: process.pid, entries: journal.entries }), snapshot)
const journal = new Journal(pool, (entry) => feed.send('entry', entry))
pool.on('workerExit', ({ pid, exitCode, signal, expected }) => {
  if (!expected) console.log(`worker process ${pid} died: ${signal ?? `exit code ${exitCode}`}`)
})

/** What /stats answers, and what the page draws. */
function snapshot() {
  const loopDelay = Math.max(0, delay.percentile(99) / 1e6 - 10)
  const host = { pid: process.pid, uptime: Math.round(process.uptime() * 1_000), rss: process.memoryUsage.rss(), loopDelay: loopDelay || 0 }
  return { time: Date.now(), host, pool: pool.stats(), load: load.snapshot() }
}

const server = createServer(createApp({ pool, feed, load, snapshot }))

async function listen() {
  // A port that was asked for is taken or it is an error; the default moves on to the next free one.
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

let stopping = 0

async function stop(signal) {
  // `npm run` and the terminal both deliver one Ctrl-C: what follows within half a second is the same one.
  const again = stopping > 0 && performance.now() - stopping > 500
  if (again) {
    console.log('\nhurrying: what still runs is ended')
    return pool.terminate()
  }
  if (stopping) return
  stopping = performance.now()
  const { queued, running } = pool.stats()
  console.log(`\n${signal}: finishing ${queued + running} jobs (again to hurry)`)
  load.stop()
  feed.close()
  server.close()
  await pool.close({ timeout: CLOSE_TIMEOUT })
  load.close()
  // Every job has settled, so every answer is on its way; connections kept alive would only hold the process.
  const { totals } = pool.stats()
  setTimeout(() => server.closeAllConnections(), 1_000).unref()
  server.closeIdleConnections()
  if (server.listening) await once(server, 'close')
  console.log(`stopped: ${totals.succeeded} jobs succeeded, ${totals.failed} failed, ${totals.cancelled} cancelled, ${totals.lost} lost`)
}

try {
  const url = await listen()
  load.aim(url)
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop)
  console.log(`prefork demo: ${url}  (${pool.stats().workers.length} workers, Ctrl-C stops)`)
} catch (error) {
  console.error(error.code === 'EADDRINUSE' ? `port ${error.port} is taken: PORT=3001 npm run demo` : error)
  process.exitCode = 1
  await pool.close()
}
