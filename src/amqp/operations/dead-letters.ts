import type { Counts, HistoryEntry, SerializedError } from '../../runtime/delivery.js'
import { decodeJob, type JobMessage } from '../../runtime/message/job.js'
import { arrayOf, count, isString, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { AdminChannel } from '../connection/admin-channel.js'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../connection/client.js'
import { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { BrokerError } from '../errors.js'
import { readCounts, readDeadLetter, readHeaders, readHistory, readMessageId, retriedDeadLetter } from '../headers/message-headers.js'
import { CONNECTION_NAMES, type ConnectionOptions, QUEUE_NAMES, type QueueOptions, readEndpoint, readQueueName, readShape } from '../options/client-options.js'
import { ConfirmingPublisher } from '../publishing/confirming-publisher.js'
import { JobPublisher } from '../publishing/job-publisher.js'
import { isNotFound, readyMessages, withChannel, withChannels, withConnection } from '../topology/queue-contents.js'
import { DEFAULT_QUEUE, deadLetterQueue } from '../topology/topology.js'

/** A job that is not tried again, except by `retryDeadLetters`. */
export interface DeadLetter {
  readonly id: string | undefined
  /** Name, arguments and context of the job; undefined when the body cannot be read. */
  readonly message: JobMessage | undefined
  /** 'failed', 'lost', 'undecodable', 'unknown_task', 'expired', 'refused' or 'redelivered' (too often). */
  readonly reason: string
  readonly error: SerializedError | undefined
  /** The queue of the job. */
  readonly queue: string
  /** ms since the epoch. */
  readonly at: number | undefined
  /** The node that dead-lettered it; undefined when RabbitMQ did. */
  readonly node: string | undefined
  readonly counts: Counts
  readonly history: readonly HistoryEntry[]
  /** Bytes of the body. */
  readonly size: number
}

export interface DeadLetterOptions extends ConnectionOptions {
  /** The queue of the jobs. Default `async_farm.jobs`. */
  queue?: string
  /** How many at most. Default: 100 for `listDeadLetters`, all for `retryDeadLetters`. */
  limit?: number
}

export interface RetryOptions extends DeadLetterOptions, QueueOptions {
  /** Only those with these ids. Default all. */
  ids?: readonly string[]
}

/** Bytes of a body once decompressed. Bodies of dead letters are shown, not executed: they have a limit of their own. */
const MAX_SHOWN_BODY = 16 * 1024 * 1024

const readQueue = (given: Readonly<Record<string, unknown>>): string => (given.queue === undefined ? DEFAULT_QUEUE : readQueueName('queue', given.queue))
const readLimit = (given: Readonly<Record<string, unknown>>, otherwise: number): number =>
  given.limit === undefined ? otherwise : count('limit', given.limit, 1)

/** How many dead letters there are. Rejects with BrokerError when there is no such queue. */
const countDeadLetters = async (connection: AmqpConnection, queue: string): Promise<number> => {
  const dead = deadLetterQueue(queue)
  const waiting = await readyMessages(connection, dead)
  if (waiting === undefined) throw new BrokerError(`There is no queue '${dead}': no node and no publisher has declared '${queue}' yet.`)
  return waiting
}

/** `what` was interrupted by `error`: the queue was deleted, a connection lost, a publication refused. */
const interruptedError = (what: string, queue: string, error: unknown): BrokerError => {
  const dead = deadLetterQueue(queue)
  const why = isNotFound(error)
    ? `the queue '${dead}' was deleted meanwhile, with what was still in it.`
    : `${error instanceof Error ? error.message : String(error)} What was not removed is still in '${dead}'.`
  return new BrokerError(`${what}: ${why}`, { cause: error })
}

const describe = async (message: AmqpMessage, queue: string): Promise<DeadLetter> => {
  const { headers } = message.properties
  const death = readDeadLetter(headers)
  let job: JobMessage | undefined
  try {
    job = await decodeJob(message.content, readHeaders(message), { maxBodySize: MAX_SHOWN_BODY })
  } catch {
    // A body that cannot be decoded may be the reason for the dead letter.
  }
  return {
    id: readMessageId(message),
    message: job,
    ...death,
    queue: death.queue ?? queue,
    counts: readCounts(headers),
    history: readHistory(headers?.history),
    size: message.content.length,
  }
}

/**
 * Returns the oldest dead letters of a queue, and leaves them there.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached, there is no such queue, or it was deleted meanwhile
 */
export const listDeadLetters = async (options: DeadLetterOptions = {}): Promise<DeadLetter[]> => {
  const given = plainObject('options', options)
  refuseUnknownNames('listDeadLetters', given, [...CONNECTION_NAMES, 'queue', 'limit'])
  const queue = readQueue(given)
  const limit = readLimit(given, 100)
  return withConnection(readEndpoint(given), async (connection) => {
    await countDeadLetters(connection, queue)
    const found: DeadLetter[] = []
    try {
      await withChannel(connection, async (channel) => {
        // The messages stay unsettled until the channel is closed, which requeues them. So each is listed once.
        while (found.length < limit) {
          const message = await channel.get(deadLetterQueue(queue))
          if (message === false) break
          found.push(await describe(message, queue))
        }
      })
    } catch (error) {
      throw interruptedError(`The dead letters of '${queue}' could not be read to the end`, queue, error)
    }
    return found
  })
}

/**
 * Publishes dead letters to their queue again, with attempt 1 and `requeues` + 1. Each is removed once RabbitMQ has confirmed the
 * publication. One call publishes each dead letter at most once.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached, there is no such queue, or the retry was interrupted (`cause`): the queue was deleted
 * meanwhile, the connection lost, a publication refused. No job is lost: each is a dead letter, or back in its queue, or (when the
 * connection was lost) both
 */
export const retryDeadLetters = async (options: RetryOptions = {}): Promise<{ retried: number }> => {
  const given = plainObject('options', options)
  refuseUnknownNames('retryDeadLetters', given, [...CONNECTION_NAMES, ...QUEUE_NAMES, 'queue', 'limit', 'ids'])
  const queue = readQueue(given)
  const endpoint = readEndpoint(given)
  const shape = readShape(given)
  const limit = readLimit(given, Number.POSITIVE_INFINITY)
  const ids = given.ids === undefined ? undefined : new Set(arrayOf('ids', given.ids, 'an array of job ids', "a job's id", isString))
  return withConnection(endpoint, async (connection) => {
    const publishing = new ReconnectingConnection(endpoint, `prefork operator ${process.pid} (publications)`)
    const admin = new AdminChannel(publishing)
    const publisher = new ConfirmingPublisher(publishing)
    try {
      await publishing.start()
      const jobs = new JobPublisher(publisher, admin, shape)
      return { retried: await retryAll(connection, queue, limit, ids, jobs) }
    } finally {
      await publisher.close(0)
      await admin.close()
      await publishing.close(new BrokerError('The connection to RabbitMQ has been closed.'))
    }
  })
}

/** Number of parallel channels. With `ids` one channel is used: RabbitMQ requeues the unchosen messages in order when the channel closes. */
const MAX_CHANNELS = 32

/** ms for one publication. Shorter than a publisher's timeout, because an operator waits. */
const PUBLISH_TIMEOUT = 10_000

const retryAll = async (
  connection: AmqpConnection,
  queue: string,
  limit: number,
  ids: ReadonlySet<string> | undefined,
  jobs: JobPublisher,
): Promise<number> => {
  const wanted = (message: AmqpMessage): boolean => {
    const id = readMessageId(message)
    return ids === undefined || (id !== undefined && ids.has(id))
  }
  const waiting = await countDeadLetters(connection, queue)
  let [seen, chosen, retried] = [0, 0, 0]
  let failed: { readonly error: unknown } | undefined
  const retryOver = async (channel: AmqpChannel): Promise<void> => {
    // Takes as many as waited at the start. A job that is dead-lettered again meanwhile is behind them and left for the next call.
    while (seen < waiting && chosen < limit && failed === undefined) {
      seen++
      const message = await channel.get(deadLetterQueue(queue))
      if (message === false) break
      // A message that is not wanted stays unsettled, and is requeued when the channel closes.
      if (chosen >= limit || !wanted(message)) continue
      chosen++
      await jobs.publish({ queue, body: message.content, options: retriedDeadLetter(message), timeout: PUBLISH_TIMEOUT })
      retried++
      channel.ack(message)
    }
    // A round trip: when it resolves, RabbitMQ has processed the acknowledgements.
    await channel.prefetch(0)
  }
  try {
    await withChannels(connection, Math.min(waiting, limit, ids === undefined ? MAX_CHANNELS : 1), async (channels) => {
      // After an error, the other channels finish the message that they have begun: the error says how many were published.
      await Promise.all(channels.map((channel) => retryOver(channel).catch((error: unknown) => (failed ??= { error }))))
      if (failed !== undefined) throw failed.error
    })
  } catch (error) {
    throw interruptedError(`Not all dead letters of '${queue}' were given another try; ${retried} were published to it again`, queue, error)
  }
  return retried
}
