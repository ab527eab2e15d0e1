/** Throws waiting jobs away. */
import { flag, knownNames, plainObject } from '../../util/checks.js'
import { BrokerError } from '../errors.js'
import { CONNECTION_NAMES, type ConnectionOptions, QUEUE_NAMES, type QueueOptions, readEndpoint, readQueueName, readShape } from '../options/node-options.js'
import { emptyQueue } from '../topology/contents.js'
import { DELAY_STEPS } from '../topology/delay-steps.js'
import { DEFAULT_QUEUE, deadLetterQueue, delayQueue, queuesBehind } from '../topology/topology.js'
import { withConnection } from './with-connection.js'

export interface PurgeOptions extends ConnectionOptions, QueueOptions {
  /** Default `async_farm.jobs`. */
  queue?: string
  /** Jobs that wait for their time, too. Default true. */
  delayed?: boolean
  /** The dead letters instead of the jobs. Default false. */
  dead?: boolean
}

const NAMES = [...CONNECTION_NAMES, ...QUEUE_NAMES, 'queue', 'delayed', 'dead'] as const satisfies readonly (keyof PurgeOptions)[]

/**
 * Removes the jobs that wait in a queue; those that a node holds stay with it. There is no way back.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached, or there is no such queue
 */
export const purge = async (options: PurgeOptions = {}): Promise<{ removed: number }> => {
  const given = plainObject('options', options)
  knownNames('purge', given, NAMES)
  const queue = given.queue === undefined ? DEFAULT_QUEUE : readQueueName('queue', given.queue)
  const shape = readShape(given)
  const delayed = given.delayed === undefined ? true : flag('delayed', given.delayed)
  const dead = given.dead === undefined ? false : flag('dead', given.dead)
  const behind = dead ? [deadLetterQueue(queue)] : queuesBehind(queue, shape)
  const waiting = delayed && !dead ? behind.flatMap((each) => DELAY_STEPS.map((step) => delayQueue(each, step))) : []
  return withConnection(readEndpoint(given), async (connection) => {
    const [first, ...more] = [...behind.toReversed(), ...waiting]
    let removed = await emptyQueue(connection, first!)
    if (removed === undefined) throw new BrokerError(`There is no queue '${first}'.`)
    // Those of a level or a step may not be there, or go while this runs.
    for (const each of more) removed += (await emptyQueue(connection, each)) ?? 0
    return { removed }
  })
}
