import { withoutPassword } from '../../util/redact.js'
import { CommandError, EXIT, UsageError } from '../exit.js'
import type { Farm, PublishOptions } from '../farm.js'
import type { BrokerSettings } from '../settings/broker.js'

const library = () => import('../../faktory/index.js')

const serverOf = ({ url, tls }: BrokerSettings) => ({ url, tls })

/** A refusal of certificates, under the names of Faktory's variables: those of RabbitMQ stand for the same options. */
const named = async <T>(run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (error) {
    const { option, reason } = (error ?? {}) as { option?: unknown; reason?: unknown }
    if (!(error instanceof TypeError) || typeof option !== 'string' || !option.startsWith('tls')) throw error
    const part = /^tls\.(ca|cert|key)$/.exec(option)?.[1]
    if (part === undefined) throw new UsageError(`FAKTORY_TLS_CA, _CERT, _KEY and _PASSPHRASE ${String(reason)}.`)
    throw new UsageError(`FAKTORY_TLS_${part.toUpperCase()} must name a PEM file, with its line '-----BEGIN …'.`)
  }
}

const given = <T extends object>(options: T): Partial<T> => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>

/** The options of a job that Faktory has; the commands have refused the others. */
const jobOptions = ({ delay, retry, reserveFor, backtrace, custom, jid }: PublishOptions) => given({ delay, retry, reserveFor, backtrace, custom, jid })

/** A Faktory server, over `prefork/faktory`. */
export const faktoryFarm: Farm = {
  async createNode(broker, options) {
    const { createWorker } = await library()
    const { queues, weights = queues, control, fetchers, reserveMargin, labels } = broker
    return await named(() => createWorker({ ...options, ...serverOf(broker), ...given({ queues: weights, control, fetchers, reserveMargin, labels }) }))
  },

  async createPublisher(broker, { timeout }) {
    const { createPublisher } = await library()
    const publisher = await named(() => createPublisher({ ...serverOf(broker), queue: broker.queues[0]!, connectTimeout: timeout, publishTimeout: timeout }))
    return {
      publish: (name, args, options) => publisher.publish(name, [...args], jobOptions(options)),
      // The commands have refused it.
      call: () => publisher.call(...([] as never)),
      close: () => publisher.close(),
    }
  },

  async createControlClient({ url, control }) {
    if (control === undefined)
      throw new UsageError(
        `Faktory at ${withoutPassword(url)} carries no commands: a node is reached by --control PATH (or ASYNC_FARM_CONTROL_PATH), the path that its prefork work was given.`,
      )
    const { createControlClient } = await library()
    return await createControlClient({ control })
  },

  listDeadLetters() {
    throw new CommandError('Faktory has no command that lists its dead set: its web page shows it, under /morgue.', EXIT.failed)
  },

  async countDeadLetters(broker) {
    const { countDeadLetters } = await library()
    return await named(() => countDeadLetters(serverOf(broker)))
  },

  async retryDeadLetters(broker, queue, { ids }) {
    const { retryDeadLetters } = await library()
    return (await named(() => retryDeadLetters({ ...serverOf(broker), ...(ids === undefined ? { queue } : { ids }) }))).retried
  },

  async purge(broker, queue, { dead }) {
    const { purge } = await library()
    return (await named(() => purge({ ...serverOf(broker), queue, dead }))).removed
  },
}
