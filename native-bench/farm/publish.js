// Publishes into an empty queue, with confirms: `node farm/publish.js [jobs] [queue type] [turns]`. `publishMany`, and the bare client: a confirm
// channel of amqplib with as many unconfirmed, JSON bodies of the same arguments, no headers. They take turns, each in a process of its own.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connect } from 'amqplib'
import { execa } from 'execa'
import { createPublisher } from '../../dist/amqp/index.js'
import { argumentsOf, BROKER_URL } from './queue.js'

/** @typedef {'many' | 'bare'} Kind */
/** @typedef {{ perSecond: number, micros: number }} Published */

/** As many as `publishMany` has unconfirmed. */
const UNCONFIRMED = 1_024
/** The share of the jobs that are published before the measurement. */
const WARM = 0.5
const TURNS = 5

const FILE = fileURLToPath(import.meta.url)

/** Publishes so many jobs, from the number `first` on. @type {Record<Kind, (queue: string) => Promise<{ publish: (first: number, jobs: number) => Promise<unknown>, close: () => Promise<unknown> }>>} */
const KINDS = {
  async many(queue) {
    const publisher = await createPublisher({ url: BROKER_URL, queue, declare: false })
    return {
      publish: (first, jobs) =>
        publisher.publishMany(
          'noop',
          (function* () {
            for (let n = first; n < first + jobs; n++) yield argumentsOf(n)
          })(),
        ),
      close: () => publisher.close(),
    }
  },
  async bare(queue) {
    const connection = await connect(BROKER_URL)
    const channel = await connection.createConfirmChannel()
    return {
      publish: (first, jobs) =>
        new Promise((resolve, reject) => {
          let [next, unconfirmed] = [first, 0]
          const confirmed = (/** @type {Error | null} */ error) => {
            if (error) reject(error)
            unconfirmed--
            send()
            if (unconfirmed === 0) resolve(undefined)
          }
          const send = () => {
            for (; unconfirmed < UNCONFIRMED && next < first + jobs; unconfirmed++) {
              const body = Buffer.from(JSON.stringify({ task: 'noop', args: argumentsOf(next++) }))
              channel.sendToQueue(queue, body, { persistent: true, contentType: 'application/json' }, confirmed)
            }
          }
          send()
        }),
      close: () => connection.close(),
    }
  },
}

/** In a process of its own: jobs per second and CPU of each in the second half. @param {Kind} kind @param {number} jobs @param {string} queue @returns {Promise<Published>} */
const measure = async (kind, jobs, queue) => {
  const { publish, close } = await KINDS[kind](queue)
  const warm = Math.round(jobs * WARM)
  await publish(0, warm)
  const began = performance.now()
  const cpu = process.cpuUsage()
  await publish(warm, jobs - warm)
  const { user, system } = process.cpuUsage(cpu)
  const ms = performance.now() - began
  await close()
  return { perSecond: (1_000 * (jobs - warm)) / ms, micros: (user + system) / (jobs - warm) }
}

/** Jobs per second and CPU of a publisher, in a new queue. @param {Kind} kind @param {number} jobs @param {string} queueType @returns {Promise<Published>} */
const published = async (kind, jobs, queueType) => {
  const queue = `prefork.bench.${randomBytes(6).toString('hex')}`
  const connection = await connect(BROKER_URL)
  const channel = await connection.createChannel()
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': queueType } })
  try {
    const child = execa(process.execPath, [FILE, kind, String(jobs), queue], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], timeout: 120_000 })
    const [result] = await Promise.race([once(child, 'message'), child.then(() => Promise.reject(new Error('the publisher has ended')))])
    await child
    return /** @type {Published} */ (result)
  } finally {
    await channel.deleteQueue(queue)
    await connection.close()
  }
}

const [first = '100000', second = 'quorum', third = String(TURNS)] = process.argv.slice(2)
if (process.send !== undefined) {
  const result = await measure(/** @type {Kind} */ (first), Number(second), third)
  process.send?.(result)
  process.disconnect?.()
} else {
  /** @type {Record<Kind, Published[]>} */
  const turns = { many: [], bare: [] }
  for (let turn = 0; turn < Number(third); turn++)
    for (const kind of /** @type {const} */ (['many', 'bare'])) turns[kind].push(await published(kind, Number(first), second))
  /** @param {number[]} values */
  const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
  /** @param {Published[]} all @returns {Published} */
  const medians = (all) => ({ perSecond: median(all.map((each) => each.perSecond)), micros: median(all.map((each) => each.micros)) })
  const [many, bare] = [medians(turns.many), medians(turns.bare)]
  for (const [name, { perSecond, micros }] of Object.entries({ publishMany: many, 'bare confirms': bare }))
    console.log(`${name}: ${Math.round(perSecond)} jobs/s, ${micros.toFixed(1)} µs of CPU each`)
  console.log(`ratio: ${(many.perSecond / bare.perSecond).toFixed(2)}, of CPU ${(many.micros / bare.micros).toFixed(2)}`)
}
