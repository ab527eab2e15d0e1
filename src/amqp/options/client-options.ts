/** The options of every client of the farm's RabbitMQ: nodes, publishers and operators. */

import { readTls, type TlsOptions } from '../../node/connection/tls-options.js'
import { type Check, choice, countFrom, flag, milliseconds, nonEmptyString, OptionError, refusal } from '../../util/checks.js'
import { namesOf, type OptionTable, type OptionValues, option, readKnown } from '../../util/option-table.js'
import type { Endpoint } from '../connection/endpoint.js'
import { DEFAULT_CONTROL_EXCHANGE, DEFAULT_EVENT_EXCHANGE, MAX_LEVELS, type QueueShape, type QueueType } from '../topology/topology.js'

const DEFAULT_URL = 'amqp://guest:guest@127.0.0.1:5672/'

export interface ConnectionOptions {
  /** RabbitMQ's address. `amqps://` for TLS. Default 'amqp://guest:guest@127.0.0.1:5672/'. */
  url?: string
  /** How an `amqps` connection is made, client certificates included. Default as Node.js does it. */
  tls?: TlsOptions
}

export interface FirstConnectionOptions {
  /** ms for the first connection: a broker that cannot be reached by then is an error. Default 30,000. */
  connectTimeout?: number
}

export interface QueueOptions {
  /** How the queues are declared; the same for every node and publisher. Default 'quorum'. */
  queueType?: QueueType
  /** Levels of priority, 1 to 10. Default 1: none. Quorum queues: a queue for each level; classic ones: `x-max-priority`. */
  priorityLevels?: number
  /** False: the queues are used as they are; they must exist. Default true. */
  declare?: boolean
}

export interface ControlOptions {
  /** The fanout exchange that carries commands. Default 'async_farm.supervisor'. */
  controlExchange?: string
  /** The direct exchange that carries events. Default 'async_farm.worker'. */
  eventExchange?: string
  /** Shared by nodes and operators: a node that has one obeys only commands signed with it. At least 8 characters; white space around it does not count. Default none. */
  secret?: string
}

export const brokerUrl: Check<string> = (name, value) => {
  const url = nonEmptyString(name, value)
  // The value may hold a password: the message does not show it.
  if (!/^amqps?:\/\//.test(url) || !URL.canParse(url))
    throw new OptionError(name, 'must be a URL of the form amqp://user:password@host:5672/vhost (amqps:// for TLS)')
  return url
}

/** Room for the suffixes of a queue's name within AMQP's 255 bytes. */
const MAX_NAME = 200

export const readQueueName: Check<string> = (name, value) => {
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > MAX_NAME) throw refusal(name, `a name of 1 to ${MAX_NAME} bytes`, value)
  if (value.startsWith('amq.')) throw refusal(name, "a name that does not begin with 'amq.', which RabbitMQ keeps for itself", value)
  return value
}

export const queueNames: Check<string[]> = (name, value) => {
  if (!Array.isArray(value) || value.length === 0) throw refusal(name, 'a non-empty array of names', value)
  return [...new Set(value.map((each: unknown, index) => readQueueName(`${name}[${index}]`, each)))]
}

export const controlSecret: Check<string> = (name, value) => {
  // A secret that was read from a file ends with a line break.
  const secret = typeof value === 'string' ? value.trim() : ''
  // The message does not show the secret.
  if (secret.length < 8) throw new OptionError(name, 'must be a text of at least 8 characters, without the white space around it')
  return secret
}

export const CONNECTION_OPTIONS = {
  url: option('URL', brokerUrl, DEFAULT_URL, "RabbitMQ's address; `amqps://` for TLS"),
  tls: option('object', readTls, undefined, 'for `amqps`: certificate authorities and a client certificate', 'as Node.js does it'),
} satisfies OptionTable<ConnectionOptions>

export const FIRST_CONNECTION_OPTIONS = {
  connectTimeout: option('ms', milliseconds, 30_000, 'for the first connection; reconnecting has no limit'),
} satisfies OptionTable<FirstConnectionOptions>

export const QUEUE_OPTIONS = {
  queueType: option('kind', choice('quorum', 'classic'), 'quorum', "`'quorum'` or `'classic'`: how queues are declared; the same for every node and publisher"),
  priorityLevels: option('levels', countFrom(1, MAX_LEVELS), 1, '1 to 10; the same for every node and publisher'),
  declare: option('boolean', flag, true, '`false`: queues are used as they are and must exist'),
} satisfies OptionTable<QueueOptions>

export const CONTROL_OPTIONS = {
  controlExchange: option('name', readQueueName, DEFAULT_CONTROL_EXCHANGE, 'the exchange for commands'),
  eventExchange: option('name', readQueueName, DEFAULT_EVENT_EXCHANGE, 'the exchange for events'),
  secret: option('text', controlSecret, undefined, 'at least 8 characters; the node obeys only commands signed with it'),
} satisfies OptionTable<ControlOptions>

export const CONNECTION_NAMES = namesOf(CONNECTION_OPTIONS)
export const QUEUE_NAMES = namesOf(QUEUE_OPTIONS)

type Given = Readonly<Record<string, unknown>>

/** Refuses certificates for a connection that is not encrypted. */
export const endpointOf = ({ url, tls }: OptionValues<typeof CONNECTION_OPTIONS>): Endpoint => {
  if (tls !== undefined && !url.startsWith('amqps:')) throw new OptionError('tls', "is for an encrypted connection: let 'url' begin with amqps://")
  return { url, tls }
}

export const readEndpoint = (given: Given): Endpoint => endpointOf(readKnown(CONNECTION_OPTIONS, given))

export const readShape = (given: Given): QueueShape => readKnown(QUEUE_OPTIONS, given)

/** The settings of a node's AMQP broker, checked. */
export interface AmqpSettings extends Endpoint {
  readonly queues: readonly string[]
  readonly shape: QueueShape
  readonly controlExchange: string
  readonly eventExchange: string
  readonly secret: string | undefined
  /** ms that a job may be unsettled before RabbitMQ delivers it again. Undefined: from the time limits and the grace. */
  readonly consumerTimeout: number | undefined
}
