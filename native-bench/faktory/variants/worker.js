// A node in this process, as an application embeds it.
import { createWorker } from '../../../dist/faktory/index.js'

/** @import { Load, Running } from '../types.js' */

const WORKERS = 2

/** @param {Load} load @returns {Promise<Running>} */
export const startWorker = async ({ url, queue, connections }) => {
  const tasks = new URL('../tasks.js', import.meta.url)
  const node = await createWorker({ url, queue, tasks, minWorkers: WORKERS, maxWorkers: WORKERS, fetchers: connections })
  return { stop: () => node.shutdown() }
}
