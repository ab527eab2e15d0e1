// BullMQ, as its documentation has it: a handler in this process. Redis decides whether a job that was accepted survives.
import { randomBytes } from 'node:crypto'
import { argsOf } from '../jobs.js'
import { REDIS_URL } from '../servers.js'

/** @import { Drain, DrainOptions } from '../types.js' */

const BULK = 1_000

/** @param {DrainOptions} options @returns {Promise<Drain>} */
export const openBullmq = async ({ jobs, outstanding }) => {
  const { Queue, Worker } = await import('bullmq')
  const connection = { url: REDIS_URL, maxRetriesPerRequest: null }
  const name = `prefork-bench-${randomBytes(6).toString('hex')}`
  // As long kept as prefork's: an hour, at most 10,000.
  const queue = new Queue(name, { connection, defaultJobOptions: { removeOnComplete: { age: 3_600, count: 10_000 } } })
  for (let from = 0; from < jobs; from += BULK)
    await queue.addBulk(Array.from({ length: Math.min(BULK, jobs - from) }, (_, index) => ({ name: 'noop', data: argsOf(from + index) })))
  let left = jobs
  const worker = new Worker(name, async () => null, { connection, concurrency: outstanding, autorun: false })
  worker.on('completed', () => {
    left--
  })
  return {
    start: async () => void worker.run(),
    left: () => left,
    stop: async () => {
      await worker.close()
      await queue.obliterate({ force: true })
      await queue.close()
    },
  }
}
