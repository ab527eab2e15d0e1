// The consumers: a node, and the bare client with an empty handler in its own process.
import { connect } from 'amqplib'
import pino from 'pino'
import { createWorker } from '../../dist/amqp/index.js'
import { PREFETCH, WORKERS } from './plan.js'

/**
 * @typedef {{ url: string, queue: string, queueType: 'quorum' | 'classic' }} Where
 * @typedef {{ done(): number, close(): Promise<unknown> }} Consumer
 */

/** @param {Where} where @param {object} [more] @returns {Promise<Consumer>} */
const node = async ({ url, queue, queueType }, more) => {
  const worker = await createWorker({
    url,
    queue,
    queueType,
    controlExchange: `${queue}.control`,
    eventExchange: `${queue}.events`,
    tasks: new URL('../tasks.js', import.meta.url),
    minWorkers: WORKERS,
    maxWorkers: WORKERS,
    prefetchPerWorker: PREFETCH / WORKERS,
    ...more,
  })
  return { done: () => worker.stats().totals.succeeded, close: () => worker.shutdown() }
}

/** @type {Record<string, (where: Where) => Promise<Consumer>>} */
export const CONSUMERS = {
  node: (where) => node(where),
  /** Logs like `prefork work`: a line of JSON for each job. */
  'node-logging': (where) => node(where, { logger: pino({ level: 'info' }, pino.destination({ dest: '/dev/null', sync: false })) }),
  async client({ url, queue }) {
    const connection = await connect(url, { noDelay: true })
    const channel = await connection.createChannel()
    await channel.prefetch(PREFETCH)
    let done = 0
    await channel.consume(queue, (message) => {
      if (message === null) return
      channel.ack(message)
      done++
    })
    return { done: () => done, close: () => connection.close() }
  },
}
