import { performance } from 'node:perf_hooks'
import { withoutPassword } from '../../util/redact.js'
import { withTimeout } from '../../util/with-timeout.js'
import { CommandError, EXIT } from '../exit.js'
import type { DeadLetter, Farm } from '../farm.js'
import type { BrokerSettings } from '../settings/broker.js'

const amqp = () => import('../../amqp/index.js')

const shapeOf = ({ url, tls, queueType, priorityLevels }: BrokerSettings) => ({ url, tls, queueType, priorityLevels })
const controlOf = ({ url, tls, controlExchange, eventExchange, secret }: BrokerSettings) => ({ url, tls, controlExchange, eventExchange, secret })

/** Bounds a connection by `timeout`, ms: publishers and operators of the library wait longer for a broker that is unavailable. */
const connected = <T>(connecting: Promise<T>, url: string, timeout: number): Promise<T> =>
  withTimeout(connecting, timeout, (): T => {
    throw new CommandError(
      `RabbitMQ at ${withoutPassword(url)} cannot be reached within ${timeout / 1_000} s. Is it running? --broker or RABBITMQ_URL say where it is.`,
      EXIT.broker,
    )
  })

/** RabbitMQ, over `prefork/amqp`. */
export const amqpFarm: Farm = {
  async createNode(broker, options) {
    const { createWorker } = await amqp()
    return await createWorker({ ...options, ...shapeOf(broker), ...controlOf(broker), queues: broker.queues })
  },

  async createPublisher(broker, { timeout }) {
    const { createPublisher, RemoteError } = await amqp()
    const publisher = await connected(createPublisher({ ...shapeOf(broker), queue: broker.queues[0], publishTimeout: timeout }), broker.url, timeout)
    return {
      publish: (name, args, options) => publisher.publish(name, [...args], options),
      async call(name, args, options) {
        // A timer may be early by a millisecond.
        const ends = performance.now() + options.timeout - 1
        try {
          return { kind: 'result', value: await publisher.call(name, [...args], options) }
        } catch (error) {
          if (error instanceof RemoteError) return { kind: 'failed', error }
          const { code } = error as { code?: unknown }
          if (code === 'ERR_PREFORK_CALL_TIMEOUT') return { kind: 'timeout' }
          // Within the time it has another reason, which its message names.
          if (code === 'ERR_PREFORK_PUBLISH' && performance.now() >= ends) return { kind: 'unconfirmed' }
          throw error
        }
      },
      close: () => publisher.close(),
    }
  },

  async createControlClient(broker, { timeout }) {
    const { createControlClient } = await amqp()
    return await connected(createControlClient(controlOf(broker)), broker.url, timeout)
  },

  async listDeadLetters({ url, tls }, queue, { limit }) {
    const letters = await (await amqp()).listDeadLetters({ url, tls, queue, limit })
    return letters.map(
      ({ message, error, counts, history, ...letter }): DeadLetter => ({
        id: letter.id,
        task: message?.task,
        args: message?.args,
        queue: letter.queue,
        reason: letter.reason,
        error: error === undefined ? '' : `${error.name}: ${error.message}`,
        at: letter.at,
        node: letter.node,
        stack: error?.stack,
        attempts: history,
        ...counts,
      }),
    )
  },

  async retryDeadLetters(broker, queue, { ids }) {
    return (await (await amqp()).retryDeadLetters({ ...shapeOf(broker), queue, ids })).retried
  },

  async purge(broker, queue, { dead }) {
    return (await (await amqp()).purge({ ...shapeOf(broker), queue, dead })).removed
  },
}
