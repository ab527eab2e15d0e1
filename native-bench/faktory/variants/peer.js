// The npm client faktory-worker, with as many jobs at once as it runs by default.

/** @import { Load, Running } from '../types.js' */

const CONCURRENCY = 20

/** @param {Load} load @returns {Promise<Running>} */
export const startPeer = async ({ url, queue }) => {
  const { default: faktory } = await import('faktory-worker')
  faktory.register('noop', async () => {})
  const worker = await faktory.work({ url, queues: [queue], concurrency: CONCURRENCY })
  return { stop: () => worker.stop() }
}
