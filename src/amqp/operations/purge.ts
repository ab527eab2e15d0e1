import { flag, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { BrokerError } from '../errors.js'
import { CONNECTION_NAMES, type ConnectionOptions, QUEUE_NAMES, type QueueOptions, readEndpoint, readQueueName, readShape } from '../options/client-options.js'
import { DELAY_STEPS } from '../topology/delay-steps.js'
import { purgeQueue, withConnection } from '../topology/queue-contents.js'
import { DEFAULT_QUEUE, deadLetterQueue, delayQueue, queuesBehind } from '../topology/topology.js'

export interface PurgeOptions extends ConnectionOptions, QueueOptions {
  /** Default `async_farm.jobs`. */
  queue?: string
  /** Delayed jobs as well. Default true. */
  delayed?: boolean
  /** Remove the dead letters instead of the jobs. Default false. */
  dead?: boolean
}

/** Queues that are purged at once, each on a channel of its own. There are hundreds of delay queues that may exist. */
const AT_ONCE = 32

const NAMES = [...CONNECTION_NAMES, ...QUEUE_NAMES, 'queue', 'delayed', 'dead'] as const satisfies readonly (keyof PurgeOptions)[]

/**
 * Removes the jobs that wait in a queue, irrevocably. Jobs that a node holds are not removed.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached, or there is no such queue
 */
export const purge = async (options: PurgeOptions = {}): Promise<{ removed: number }> => {
  const given = plainObject('options', options)
  refuseUnknownNames('purge', given, NAMES)
  const queue = given.queue === undefined ? DEFAULT_QUEUE : readQueueName('queue', given.queue)
  const shape = readShape(given)
  const delayed = given.delayed === undefined ? true : flag('delayed', given.delayed)
  const dead = given.dead === undefined ? false : flag('dead', given.dead)
  const behind = dead ? [deadLetterQueue(queue)] : queuesBehind(queue, shape)
  const waiting = delayed && !dead ? behind.flatMap((each) => DELAY_STEPS.map((step) => delayQueue(each, step))) : []
  return withConnection(readEndpoint(given), async (connection) => {
    const [first, ...more] = [...behind.toReversed(), ...waiting]
    let removed = await purgeQueue(connection, first!)
    if (removed === undefined) throw new BrokerError(`There is no queue '${first}'.`)
    for (let i = 0; i < more.length; i += AT_ONCE) {
      // The queue of a level or a step may not exist, or expire meanwhile.
      const counts = await Promise.all(more.slice(i, i + AT_ONCE).map((each) => purgeQueue(connection, each)))
      for (const count of counts) removed += count ?? 0
    }
    return { removed }
  })
}
