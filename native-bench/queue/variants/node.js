// A node with two worker processes.
import { createWorker } from '../../../dist/queue/index.js'
import { fileIn, fillUsed, QUEUE } from '../jobs.js'

/** @import { Drain, DrainOptions } from '../types.js' */

const WORKERS = 2

/** @param {string} file @param {number} outstanding */
export const startNode = (file, outstanding) =>
  createWorker({
    store: `sqlite:${file}`,
    queue: QUEUE,
    tasks: new URL('../tasks.js', import.meta.url),
    minWorkers: WORKERS,
    maxWorkers: WORKERS,
    prefetchPerWorker: outstanding / WORKERS,
  })

/** @param {DrainOptions} options @returns {Promise<Drain>} */
export const openNode = async ({ folder, jobs, outstanding }) => {
  const queue = await fillUsed(fileIn(folder), jobs)
  /** @type {Awaited<ReturnType<typeof startNode>>} */
  let node
  return {
    start: async () => {
      node = await startNode(fileIn(folder), outstanding)
    },
    left: async () => {
      const { waiting, active } = await queue.counts()
      return waiting + active
    },
    stop: async () => {
      await node.shutdown()
      await queue.close()
    },
  }
}
