// The consumers that run in `host.js`: a node, and the bare client with an empty handler.
import { connect } from 'amqplib'
import { createWorker } from '../../dist/amqp/index.js'
import { PREFETCH, WORKERS } from './plan.js'

/** @import { Where } from './plan.js' */

/** Each opens, and returns how it is closed. @type {Record<string, (where: Where) => Promise<() => Promise<unknown>>>} */
export const HOSTED = {
  async node({ url, queue, queueType }) {
    const worker = await createWorker({
      url,
      queue,
      queueType: /** @type {'quorum' | 'classic'} */ (queueType),
      controlExchange: `${queue}.control`,
      eventExchange: `${queue}.events`,
      tasks: new URL('../tasks.js', import.meta.url),
      minWorkers: WORKERS,
      maxWorkers: WORKERS,
      prefetchPerWorker: PREFETCH / WORKERS,
    })
    return () => worker.shutdown()
  },
  // With the options of the socket that amqplib has by default: with `noDelay` it is slower.
  async client({ url, queue }) {
    const connection = await connect(url)
    const channel = await connection.createChannel()
    await channel.prefetch(PREFETCH)
    await channel.consume(queue, (message) => {
      if (message !== null) channel.ack(message)
    })
    return () => connection.close()
  },
}
