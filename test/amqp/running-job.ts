/** The ways in which a consumer ends while a worker runs a job. */
import { connect } from 'amqplib'
import { describe, it } from 'vitest'
import { throughFault } from './held-job.js'
import { admin, RABBITMQ_URL } from './rabbit.js'
import type { TcpProxy } from './tcp-proxy.js'

/** Records the channels that consume queues, so that a test can cause an error on one. */
interface Channel {
  ack(message: { fields: { deliveryTag: number } }): void
  consume(queue: string, ...rest: unknown[]): unknown
}
export const consumedOn = new Map<string, Channel>()
export const watchChannels = async (): Promise<void> => {
  const connection = await connect(RABBITMQ_URL)
  const prototype = Object.getPrototypeOf(await connection.createChannel()) as Channel
  await connection.close()
  const { consume } = prototype
  prototype.consume = function (this: Channel, queue, ...rest) {
    consumedOn.set(queue, this)
    return consume.call(this, queue, ...rest)
  }
}

/** Tests that the job goes on, with queues of these types. `watchChannels` was called before. */
export const jobGoesOn = (queueTypes: readonly ('quorum' | 'classic')[], proxy: () => TcpProxy): void => {
  describe.each(queueTypes)('%s: a job that a worker runs meanwhile completes, once:', (queueType) => {
    it('the connection is cut', () => throughFault({ url: RABBITMQ_URL, nodeUrl: proxy().url, queueType }, () => proxy().cut()))

    it('a channel error', () => throughFault({ url: RABBITMQ_URL, queueType }, (held) => consumedOn.get(held)!.ack({ fields: { deliveryTag: 999 } })))

    it('the queue is deleted, and published to at once', () =>
      throughFault({ url: RABBITMQ_URL, queueType, redelivered: false }, async (held) => {
        const { onChannel, close } = await admin()
        await onChannel((channel) => channel.deleteQueue(held))
        await close()
      }))
  })
}
