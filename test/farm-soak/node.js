// One node of the soak in a process of its own: `node node.js <options as JSON>`. It reports as lines of JSON.
import { appendFileSync } from 'node:fs'
import { createWorker } from 'prefork/amqp'

const journal = process.env.PREFORK_SOAK_JOURNAL
const send = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
const logger = { trace() {}, debug() {}, info() {}, warn: (_details, message) => notice(message), error() {} }
const notice = (message) => {
  if (message === 'broker connection lost') appendFileSync(journal, `disconnected ${process.pid} ${Date.now()}\n`)
}

const node = await createWorker({ ...JSON.parse(process.argv[2]), tasks: new URL('./tasks.js', import.meta.url), logger })
const report = ({ workers, held, depth, totals, rss }) =>
  send({ type: 'stats', held, depth, totals, rss, workers: workers.flatMap(({ pid, state }) => (state === 'up' || state === 'busy' ? [pid] : [])) })
node.onEvent((event) => {
  if (event.type === 'worker.exit' && !event.expected && event.pid !== undefined) appendFileSync(journal, `exit ${event.pid} ${Date.now()}\n`)
  if (event.type === 'node.heartbeat') report(event.stats)
})
send({ type: 'up' })
report(node.stats())
process.once('SIGTERM', async () => {
  const began = performance.now()
  send({ type: 'down', ...(await node.shutdown()), ms: Math.round(performance.now() - began) })
})
