/** What can be done with dead letters: look at them, give them another try. */

import type { Counts, HistoryEntry, SerializedError } from '../../runtime/delivery.js'
import { decodeJob, type JobMessage } from '../../runtime/message/index.js'
import { arrayOf, count, isString, knownNames, plainObject } from '../../util/checks.js'
import { AdminChannel } from '../connection/admin-channel.js'
import type { AmqpConnection, AmqpMessage } from '../connection/client.js'
import { SteadyConnection } from '../connection/connection.js'
import { BrokerError } from '../errors.js'
import { readCounts, readDeath, readHeaders, readHistory, readMessageId, revived } from '../headers/message-headers.js'
import { CONNECTION_NAMES, type ConnectionOptions, QUEUE_NAMES, type QueueOptions, readEndpoint, readQueueName, readShape } from '../options/node-options.js'
import { ConfirmingPublisher } from '../publishing/confirming-publisher.js'
import { JobPublisher } from '../publishing/job-publisher.js'
import { isMissing, onChannel, readyIn } from '../topology/contents.js'
import { DEFAULT_QUEUE, deadLetterQueue } from '../topology/topology.js'
import { withConnection } from './with-connection.js'

/** A job that is not tried again unless somebody says so. */
export interface DeadLetter {
  readonly id: string | undefined
  /** Name, arguments and context of the job; undefined when the body cannot be read. */
  readonly message: JobMessage | undefined
  /** 'failed', 'lost', 'undecodable', 'unknown_task', 'expired', 'refused' or 'redelivered' (too often). */
  readonly reason: string
  readonly error: SerializedError | undefined
  /** The queue that it came from. */
  readonly queue: string
  /** ms since the epoch. */
  readonly at: number | undefined
  /** The node that gave it up; undefined when it was the broker. */
  readonly node: string | undefined
  readonly counts: Counts
  readonly history: readonly HistoryEntry[]
  /** Bytes of the body. */
  readonly size: number
}

export interface DeadLetterOptions extends ConnectionOptions {
  /** The queue whose dead letters are meant. Default `async_farm.jobs`. */
  queue?: string
  /** How many at the most. Default: listing 100, retrying all. */
  limit?: number
}

export interface RetryOptions extends DeadLetterOptions, QueueOptions {
  /** Only those with these ids. Default all. */
  ids?: readonly string[]
}

/** Bodies of dead letters are shown, not run: a limit of its own. */
const MAX_SHOWN_BODY = 16 * 1024 * 1024

const readQueue = (given: Readonly<Record<string, unknown>>): string => (given.queue === undefined ? DEFAULT_QUEUE : readQueueName('queue', given.queue))
const readLimit = (given: Readonly<Record<string, unknown>>, otherwise: number): number =>
  given.limit === undefined ? otherwise : count('limit', given.limit, 1)

const noQueue = (queue: string): BrokerError =>
  new BrokerError(`There is no queue '${deadLetterQueue(queue)}': no node and no publisher has declared '${queue}' yet.`)

/** `what` was broken off by `error`: the queue was deleted, a connection lost, a publication refused. */
const brokenOff = (what: string, queue: string, error: unknown): BrokerError => {
  const dead = deadLetterQueue(queue)
  const why = isMissing(error)
    ? `the queue '${dead}' was deleted meanwhile, with what was still in it.`
    : `${error instanceof Error ? error.message : String(error)} What was not removed is still in '${dead}'.`
  return new BrokerError(`${what}: ${why}`, { cause: error })
}

const show = async (message: AmqpMessage, queue: string): Promise<DeadLetter> => {
  const { headers } = message.properties
  const death = readDeath(headers)
  let job: JobMessage | undefined
  try {
    job = await decodeJob(message.content, readHeaders(message), { maxBodySize: MAX_SHOWN_BODY })
  } catch {
    // That may be why it is here.
  }
  return {
    id: readMessageId(message),
    message: job,
    reason: death.reason,
    error: death.error,
    queue: death.queue ?? queue,
    at: death.at,
    node: death.node,
    counts: readCounts(headers),
    history: readHistory(headers?.history),
    size: message.content.length,
  }
}

/**
 * Shows the oldest dead letters of a queue, and leaves them where they are.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached, there is no such queue, or it was deleted meanwhile
 */
export const listDeadLetters = async (options: DeadLetterOptions = {}): Promise<DeadLetter[]> => {
  const given = plainObject('options', options)
  knownNames('listDeadLetters', given, [...CONNECTION_NAMES, 'queue', 'limit'])
  const queue = readQueue(given)
  const limit = readLimit(given, 100)
  return withConnection(readEndpoint(given), async (connection) => {
    if ((await readyIn(connection, deadLetterQueue(queue))) === undefined) throw noQueue(queue)
    const shown: DeadLetter[] = []
    try {
      await onChannel(connection, async (channel) => {
        // Held until the channel closes, which gives them back: so each is seen once.
        while (shown.length < limit) {
          const message = await channel.get(deadLetterQueue(queue))
          if (message === false) break
          shown.push(await show(message, queue))
        }
      })
    } catch (error) {
      throw brokenOff(`The dead letters of '${queue}' could not be read to the end`, queue, error)
    }
    return shown
  })
}

/**
 * Gives dead letters another try: each is published to its queue again, with all its attempts before it and `requeues` + 1, and is
 * removed once that is confirmed. Each at most once in one call.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached, there is no such queue, or it was broken off: the queue was deleted meanwhile, the
 * connection lost, a publication refused (`cause`). No job is lost by that: each is a dead letter, or back in its queue, or (when
 * the connection was lost) both
 */
export const retryDeadLetters = async (options: RetryOptions = {}): Promise<{ retried: number }> => {
  const given = plainObject('options', options)
  knownNames('retryDeadLetters', given, [...CONNECTION_NAMES, ...QUEUE_NAMES, 'queue', 'limit', 'ids'])
  const queue = readQueue(given)
  const endpoint = readEndpoint(given)
  const shape = readShape(given)
  const limit = readLimit(given, Number.POSITIVE_INFINITY)
  const ids = given.ids === undefined ? undefined : new Set(arrayOf('ids', given.ids, 'an array of job ids', "a job's id", isString))
  const wanted = (message: AmqpMessage): boolean => {
    const id = readMessageId(message)
    return ids === undefined || (id !== undefined && ids.has(id))
  }
  return withConnection(endpoint, async (connection) => {
    const publishing = new SteadyConnection(endpoint, `prefork operator ${process.pid} (publications)`)
    const errands = new AdminChannel(publishing)
    const publisher = new ConfirmingPublisher(publishing)
    try {
      await publishing.start()
      const jobs = new JobPublisher(publisher, errands, shape)
      return { retried: await retryAll(connection, queue, limit, wanted, jobs) }
    } finally {
      await publisher.close(0)
      await errands.close()
      await publishing.close(new BrokerError('The connection to RabbitMQ has been closed.'))
    }
  })
}

/** ms that one publication may take: an operator waits for it. */
const PUBLISH_TIMEOUT = 10_000

const retryAll = async (
  connection: AmqpConnection,
  queue: string,
  limit: number,
  wanted: (message: AmqpMessage) => boolean,
  jobs: JobPublisher,
): Promise<number> => {
  const waiting = await readyIn(connection, deadLetterQueue(queue))
  if (waiting === undefined) throw noQueue(queue)
  let retried = 0
  try {
    await onChannel(connection, async (channel) => {
      // As many as there were: one that dies again meanwhile comes behind them, and waits for the next call.
      for (let seen = 0; seen < waiting && retried < limit; seen++) {
        const message = await channel.get(deadLetterQueue(queue))
        if (message === false) break
        // Those not wanted are held, and given back when the channel closes.
        if (!wanted(message)) continue
        await jobs.publish({ queue, body: message.content, options: revived(message), timeout: PUBLISH_TIMEOUT })
        retried++
        channel.ack(message)
      }
      // A round trip: what was acknowledged is gone, or this is rejected.
      await channel.prefetch(0)
    })
  } catch (error) {
    throw brokenOff(`Not all dead letters of '${queue}' were given another try; ${retried} were published to it again`, queue, error)
  }
  return retried
}
