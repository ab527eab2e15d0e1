// An HTTP server whose jobs outlive it. `npm run demo:queue` in the root of the repository builds prefork and starts it.
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createQueue, createWorker } from 'prefork/queue'
import { createApp } from './app.js'
import { Feed } from './feed.js'
import { Pictures } from './pictures.js'

const HOST = process.env.HOST ?? '127.0.0.1'
const PORT = Number(process.env.PORT ?? 3_000)
const DATA = process.env.DATA ?? fileURLToPath(new URL('./data', import.meta.url))

mkdirSync(DATA, { recursive: true })
const store = `sqlite:${join(DATA, 'jobs.db')}`
// A picture that cannot be decoded is not tried twice; the death of a process is no attempt.
const queue = await createQueue({ store, queue: 'pictures', defaults: { maxAttempts: 1 } }).catch(refuse)
const pictures = new Pictures(queue, DATA)
await pictures.removeOrphans()
// The first start has something to show.
if ((await pictures.list()).length === 0) await pictures.paint()

const node = await createWorker({ store, queue: 'pictures', tasks: new URL('./tasks.js', import.meta.url), minWorkers: 2, prefetchPerWorker: 1 }).catch(refuse)
const feed = new Feed(queue, pictures)
const server = createServer(createApp({ pictures, feed, kill }))

server.listen(PORT, HOST)
await once(server, 'listening').catch(refuse)
console.log(`prefork queue demo: http://${HOST}:${server.address().port}  (server ${process.pid}, workers ${pids().join(' ')}, Ctrl-C stops)`)

function pids() {
  return node.stats().workers.flatMap(({ pid }) => pid ?? [])
}

/** What the button of the page does: none of these processes can catch it. */
function kill() {
  for (const pid of [...pids(), process.pid]) process.kill(pid, 'SIGKILL')
}

/** What runs is finished, for ten seconds at most; what waits stays in the file. */
async function stop() {
  console.log('\nfinishing what runs; what waits stays in the file (Ctrl-C again to stop at once)')
  feed.close()
  server.close()
  server.closeIdleConnections()
  await node.shutdown({ grace: 10_000 })
  await queue.close()
  server.closeAllConnections()
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)

function refuse(error) {
  console.error(error.code === 'EADDRINUSE' ? `port ${PORT} is taken; choose another one, for example PORT=3001` : error.message)
  process.exit(1)
}
