// Lets one consumer empty a full queue: `node farm/drain.js <command, node or client> [jobs] [queue type]`.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { childrenOf, cpuMs } from '../lib/processes.js'
import { consumerArguments } from './plan.js'
import { BROKER_URL, fullQueue } from './queue.js'

/** @import { Consumer } from './plan.js' */
/** @typedef {{ perSecond: number, micros: number, workerMicros: number, allMicros: number }} Drained */

/** The share of the jobs before the measurement: start and compilation take some 50,000 jobs. */
const WARM = 0.5
/** The share of the jobs after which the measurement ends: the last ones do not keep every worker busy. */
const LAST = 0.05
/** Time for the broker to write the queue to disk, ms. */
const SETTLE_MS = 2_000
const LONGEST = 120_000

/**
 * Jobs per second and CPU of the consumer's process and of its workers for each, in the second half; `allMicros`: in all, with the start. Progress is what the
 * broker still has ready: so it is the same for every consumer, and costs it nothing.
 * @param {Consumer} consumer @param {string} queueType @param {number} jobs @returns {Promise<Drained>}
 */
export const drain = async (consumer, queueType, jobs) => {
  const { queue, ready, remove } = await fullQueue(jobs, queueType)
  await sleep(SETTLE_MS)
  // The command writes its log to the pipe.
  const child = execa(process.execPath, consumerArguments(consumer, { url: BROKER_URL, queue, queueType }), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    buffer: false,
    reject: false,
    timeout: LONGEST,
  })
  child.stdout?.resume()
  const ended = child.then(({ exitCode, signal }) => {
    throw new Error(`the consumer has ended: ${signal ?? exitCode}`)
  })
  /** @param {number} wanted */
  const downTo = async (wanted) => {
    let left = await ready()
    for (; left > wanted; left = await ready()) await Promise.race([sleep(10), ended])
    const at = performance.now()
    child.send?.(0)
    const [micros] = await once(child, 'message')
    const workers = childrenOf(child.pid ?? 0).reduce((sum, pid) => sum + 1_000 * cpuMs(pid), 0)
    return { left, at, micros, workers }
  }
  try {
    const from = await downTo(jobs * (1 - WARM))
    const to = await downTo(jobs * LAST)
    const { micros } = await downTo(0)
    const done = from.left - to.left
    return {
      perSecond: (1_000 * done) / (to.at - from.at),
      micros: (to.micros - from.micros) / done,
      workerMicros: (to.workers - from.workers) / done,
      allMicros: micros / jobs,
    }
  } finally {
    child.kill('SIGTERM')
    await child
    await remove()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name = 'command', jobs = '20000', queueType = 'quorum'] = process.argv.slice(2)
  const { perSecond, micros, workerMicros, allMicros } = await drain(/** @type {Consumer} */ (name), queueType, Number(jobs))
  const each = `${micros.toFixed(1)} µs of CPU each, ${workerMicros.toFixed(1)} in workers`
  console.log(`${name}: ${Math.round(perSecond)} jobs/s, ${each}, in the second half; ${allMicros.toFixed(1)} µs with the start`)
}
