import { arrayOf, isString, plainObject, refusal, refuseUnknownNames } from '../../util/checks.js'
import { CONNECTION_NAMES, type ConnectionOptions, readEndpoint } from '../options.js'
import { DEFAULT_QUEUE, queueName } from '../worker/queue-order.js'
import { ofQueue, withServer } from './with-server.js'

export interface RetryOptions extends ConnectionOptions {
  /** Default 'default'. Not with `ids`. */
  queue?: string
  /** The jobs with these ids, of any queue. Default all of the queue. */
  ids?: readonly string[]
}

/**
 * How many jobs the dead set has, of all queues: the protocol has no command that lists them. The server's web page does.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} the server cannot be reached
 */
export const countDeadLetters = async (options: ConnectionOptions = {}): Promise<number> => {
  const given = plainObject('options', options)
  refuseUnknownNames('countDeadLetters', given, CONNECTION_NAMES)
  return withServer(readEndpoint(given), async (server) => (await server.info()).faktory.sets.dead)
}

/**
 * Puts jobs of the dead set back into their queues. One that fails again is dead at once, since its retries are used up. The number is that of the
 * moment: the protocol names no job that it moves.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} the server cannot be reached
 */
export const retryDeadLetters = async (options: RetryOptions = {}): Promise<{ retried: number }> => {
  const given = plainObject('options', options)
  refuseUnknownNames('retryDeadLetters', given, [...CONNECTION_NAMES, 'queue', 'ids'])
  const queue = given.queue === undefined ? DEFAULT_QUEUE : queueName('queue', given.queue)
  const ids = given.ids === undefined ? undefined : arrayOf('ids', given.ids, 'an array of job ids', "a job's id", isString)
  if (ids !== undefined && given.queue !== undefined) throw refusal('ids', "absent where 'queue' is named: the server looks for the ids in every queue", ids)
  // The server takes an empty array for every job.
  if (ids?.length === 0) return { retried: 0 }
  const filter = ids === undefined ? ofQueue(queue) : { jids: ids }
  return withServer(readEndpoint(given), async (server) => ({ retried: await server.mutate({ cmd: 'requeue', target: 'dead', filter }) }))
}
