import { BrokerError } from '../../node/connection/errors.js'
import { flag, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { CONNECTION_NAMES, type ConnectionOptions, readEndpoint } from '../options.js'
import { DEFAULT_QUEUE, queueName } from '../worker/queue-order.js'
import { ofQueue, withServer } from './with-server.js'

export interface PurgeOptions extends ConnectionOptions {
  /** Default 'default'. */
  queue?: string
  /** Scheduled jobs, and those that wait for a retry, as well. Default true. */
  delayed?: boolean
  /** Remove the queue's jobs in the dead set instead. Default false. */
  dead?: boolean
}

/**
 * Removes the jobs that wait in a queue, irrevocably. Jobs that a worker holds are not removed. The number is that of the moment: the protocol
 * names no job that it removes.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} the server cannot be reached, or there is no such queue
 */
export const purge = async (options: PurgeOptions = {}): Promise<{ removed: number }> => {
  const given = plainObject('options', options)
  refuseUnknownNames('purge', given, [...CONNECTION_NAMES, 'queue', 'delayed', 'dead'])
  const queue = given.queue === undefined ? DEFAULT_QUEUE : queueName('queue', given.queue)
  const delayed = given.delayed === undefined ? true : flag('delayed', given.delayed)
  const dead = given.dead === undefined ? false : flag('dead', given.dead)
  const filter = ofQueue(queue)
  return withServer(readEndpoint(given), async (server) => {
    if (dead) return { removed: await server.mutate({ cmd: 'discard', target: 'dead', filter }) }
    const waiting = (await server.info()).faktory.queues[queue]
    let removed = waiting ?? 0
    await server.send('QUEUE', `REMOVE ${queue}`)
    if (delayed) for (const target of ['scheduled', 'retries'] as const) removed += await server.mutate({ cmd: 'discard', target, filter })
    if (waiting === undefined && removed === 0) throw new BrokerError(`There is no queue '${queue}': nothing was ever pushed to it.`)
    return { removed }
  })
}
