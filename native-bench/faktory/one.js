// Runs one measurement in this fresh process: `node one.js <variant> <url> <connections> <jobs>`. It prints the figures as JSON on descriptor 3.
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { childrenOf, cpuMs } from '../lib/processes.js'
import { BareClient, downTo } from './client.js'
import { VARIANTS } from './variants/index.js'

const FIGURES = 3
/** The share of the jobs, and the longest time, before the measurement: start, compilation, and the scaling of the node. */
const WARM = 0.5
const WARM_MS = 30_000
/** The share that is not measured at the end: the last ones do not keep every connection busy. */
const LAST = 0.05
const LONGEST_MS = 60_000

/** CPU of a process and all below it, ms. @param {number} pid @returns {number} */
const treeCpu = (pid) => {
  try {
    return cpuMs(pid) + childrenOf(pid).reduce((sum, child) => sum + treeCpu(child), 0)
  } catch {
    // It has ended meanwhile.
    return 0
  }
}

const [key = '', url = '', connections = '', wanted = ''] = process.argv.slice(2)
const variant = VARIANTS[key]
if (variant === undefined) throw new Error(`there is no variant ${key}`)
const jobs = Number(wanted)
const queue = `bench-${randomBytes(4).toString('hex')}`
const client = await BareClient.connect(url)
await client.fill(queue, jobs)
const running = await variant.start({ url, queue, connections: Number(connections) })
const from = await downTo(client, queue, jobs * (1 - WARM), WARM_MS)
const before = treeCpu(process.pid)
const to = await downTo(client, queue, jobs * LAST, LONGEST_MS)
const cpu = treeCpu(process.pid) - before
// What is left is run, or it would be reserved for a worker that is gone.
await downTo(client, queue, 0, LONGEST_MS)
await running.stop()
await client.ask(`QUEUE REMOVE ${queue}`)
const done = from.left - to.left
if (done <= 0) throw new Error('no job was done')
writeSync(FIGURES, `${JSON.stringify({ perSecond: (1_000 * done) / (to.at - from.at), micros: (1_000 * cpu) / done })}\n`)
process.exit(0)
