// From `add` to the start of the job in another process, and to its result in the same process.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createQueue } from '../../../dist/queue/index.js'
import { quantile, seeded } from '../../lib/statistics.js'
import { fileIn, QUEUE } from '../jobs.js'
import { startNode } from '../variants/node.js'

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Queue } from '../../../dist/queue/index.js' */
/** @import { Context, QueueCase, Size } from '../types.js' */

/** @type {Record<Size, { warm: number, samples: number }>} */
const JOBS = { smoke: { warm: 5, samples: 10 }, short: { warm: 50, samples: 200 }, full: { warm: 100, samples: 500 } }
/** The pause before a job, ms. */
const PAUSE = { least: 5, more: 20 }
const OUTSTANDING = 20

const micros = () => Number(process.hrtime.bigint()) / 1_000

/** One job after the other, with a pause. @param {Context} context @param {() => Promise<Record<string, number>>} sample times, ms */
const sampled = async ({ size }, sample) => {
  const random = seeded(1)
  const { warm, samples } = JOBS[size]
  /** @type {Map<string, number[]>} */
  const times = new Map()
  for (let n = 0; n < warm + samples; n++) {
    await sleep(PAUSE.least + PAUSE.more * random())
    for (const [name, time] of Object.entries(await sample())) if (n >= warm) times.set(name, [...(times.get(name) ?? []), time])
  }
  return Object.fromEntries(
    [...times].flatMap(([name, all]) => {
      const sorted = all.sort((a, b) => a - b)
      return [
        [`${name}P50`, quantile(sorted, 0.5)],
        [`${name}P99`, quantile(sorted, 0.99)],
      ]
    }),
  )
}

/** Adds a job and waits for its result. @param {Queue} queue */
const runOne = async (queue) => {
  const began = micros()
  const job = await queue.add('startedAt', [])
  const added = micros()
  const started = /** @type {number} */ (await job.result())
  return { add: (added - began) / 1_000, start: (started - began) / 1_000, result: (micros() - began) / 1_000 }
}

const HOST = fileURLToPath(new URL('../host.js', import.meta.url))

/** @param {Context} context */
const twoProcesses = async (context) => {
  const { execa } = await import('execa')
  const file = fileIn(context.folder)
  const queue = await createQueue({ store: `sqlite:${file}`, queue: QUEUE })
  const host = execa(process.execPath, [HOST, file, String(OUTSTANDING)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], reject: false })
  try {
    await once(/** @type {ChildProcess} */ (/** @type {unknown} */ (host)), 'message')
    return await sampled(context, () => runOne(queue))
  } finally {
    host.kill('SIGTERM')
    await host
    await queue.close()
  }
}

/** @param {Context} context */
const embedded = async (context) => {
  const file = fileIn(context.folder)
  const queue = await createQueue({ store: `sqlite:${file}`, queue: QUEUE })
  const node = await startNode(file, OUTSTANDING)
  try {
    return await sampled(context, () => runOne(queue))
  } finally {
    await node.shutdown()
    await queue.close()
  }
}

const TIME = /** @type {const} */ ({ unit: 'ms', digits: 2, better: 'less' })

/** @type {QueueCase} */
export const latency = {
  title: 'A job that comes alone',
  about: 'One job after the other, with a pause of 5 to 25 ms. Start: when the task began in its worker.',
  timeout: 90,
  variants: {
    embedded: { title: 'queue and node in one process', measure: embedded },
    two: { title: 'queue and node in two processes', measure: twoProcesses },
  },
  metrics: {
    addP50: { title: 'add p50', ...TIME },
    addP99: { title: 'add p99', ...TIME },
    startP50: { title: 'add to start p50', ...TIME },
    startP99: { title: 'p99', ...TIME },
    resultP50: { title: 'add to result p50', ...TIME },
    resultP99: { title: 'p99', ...TIME },
  },
}
