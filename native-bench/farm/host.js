// Consumes a filled queue: `node farm/host.js <consumer> <url> <queue> <jobs> <queue type>`. It prints its figures as JSON when the queue is
// empty.
import { setTimeout as sleep } from 'node:timers/promises'
import { CONSUMERS } from './consumers.js'

/** The share of the jobs before the measurement: start and compilation take some 50,000 jobs. */
const WARM = 0.5
/** The share of the jobs after which the measurement ends: the last ones do not keep every worker busy. */
const LAST = 0.05

const [name = '', url = '', queue = '', count = '0', queueType = 'quorum'] = process.argv.slice(2)
const jobs = Number(count)
const open = CONSUMERS[name]
if (open === undefined) throw new Error(`no consumer ${name}`)

const consumer = await open({ url, queue, queueType: /** @type {'quorum' | 'classic'} */ (queueType) })
/** @param {number} wanted */
const reach = async (wanted) => {
  while (consumer.done() < wanted) await sleep(20)
  return { done: consumer.done(), at: performance.now(), cpu: process.cpuUsage() }
}
const from = await reach(jobs * WARM)
const to = await reach(jobs * (1 - LAST))
await reach(jobs)
await consumer.close()
const done = to.done - from.done
const micros = to.cpu.user + to.cpu.system - from.cpu.user - from.cpu.system
console.log(JSON.stringify({ perSecond: (1_000 * done) / (to.at - from.at), hostMicros: micros / done }))
process.exit(0)
