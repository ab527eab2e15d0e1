// What a node costs that has nothing to do.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { createQueue } from '../../../dist/queue/index.js'
import { childrenOf, cpuMs, tcpSockets } from '../../lib/processes.js'
import { fileIn, QUEUE } from '../jobs.js'

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Context, QueueCase, Size } from '../types.js' */

/** Time for the start and the first garbage collections, and that of the measurement, ms. @type {Record<Size, { settle: number, measured: number }>} */
const TIMES = { smoke: { settle: 200, measured: 800 }, short: { settle: 4_000, measured: 10_000 }, full: { settle: 10_000, measured: 30_000 } }
const JOBS = 200
const HOST = fileURLToPath(new URL('../host.js', import.meta.url))

/** @param {Context} context */
const measure = async ({ folder, size }) => {
  const { settle, measured } = TIMES[size]
  const file = fileIn(folder)
  const host = execa(process.execPath, [HOST, file, '20'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], reject: false })
  try {
    await once(/** @type {ChildProcess} */ (/** @type {unknown} */ (host)), 'message')
    // It has worked before.
    const queue = await createQueue({ store: `sqlite:${file}`, queue: QUEUE })
    const jobs = await queue.addBulk(Array.from({ length: JOBS }, () => ({ task: 'noop', args: [] })))
    await Promise.all(jobs.map((job) => job.result()))
    await queue.close()
    await sleep(settle)
    const node = host.pid ?? 0
    const workers = childrenOf(node)
    const cpu = () => [cpuMs(node), workers.reduce((sum, pid) => sum + cpuMs(pid), 0)]
    const [nodeBefore = 0, workersBefore = 0] = cpu()
    const began = performance.now()
    await sleep(measured)
    const ms = performance.now() - began
    const [nodeAfter = 0, workersAfter = 0] = cpu()
    return {
      node: (100 * (nodeAfter - nodeBefore)) / ms,
      workers: (100 * (workersAfter - workersBefore)) / ms,
      all: (100 * (nodeAfter - nodeBefore + workersAfter - workersBefore)) / ms,
      tcp: [node, ...workers].reduce((sum, pid) => sum + tcpSockets(pid), 0),
    }
  } finally {
    host.kill('SIGTERM')
    await host
  }
}

const SHARE = /** @type {const} */ ({ unit: '% of a core', digits: 2, better: 'less' })

/** @type {QueueCase} */
export const idle = {
  title: 'An idle node',
  about: 'A node with two workers that has run some jobs and has none.',
  timeout: 90,
  maxRounds: 3,
  variants: { node: { title: 'node, 2 workers', measure } },
  metrics: {
    node: { title: 'node', ...SHARE },
    workers: { title: 'workers', ...SHARE },
    all: { title: 'together', ...SHARE },
    tcp: { title: 'TCP sockets', unit: '', digits: 0, better: 'less' },
  },
}
