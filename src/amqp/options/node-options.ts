/** What everything that speaks to the farm's RabbitMQ is told: nodes, publishers, operators. */
import { count, flag, milliseconds, oneOf, refuse } from '../../util/checks.js'
import type { Endpoint } from '../connection/endpoint.js'
import { DEFAULT_CONTROL_EXCHANGE, DEFAULT_EVENT_EXCHANGE, DEFAULT_QUEUE, MAX_LEVELS, type QueueShape, type QueueType } from '../topology/topology.js'
import { readTls, type TlsOptions } from './tls-options.js'

export const DEFAULT_URL = 'amqp://guest:guest@127.0.0.1:5672/'

export interface ConnectionOptions {
  /** Default `amqp://guest:guest@127.0.0.1:5672/`. `amqps://` for TLS. */
  url?: string
  /** How an `amqps` connection is made, client certificates included. Default as Node does it by itself. */
  tls?: TlsOptions
}

export interface FirstConnectionOptions {
  /** ms for the first connection: a broker that is not there by then is an error. Default 30,000. */
  connectTimeout?: number
}

export interface QueueOptions {
  /** How the queues are declared; the same for every node and publisher. Default 'quorum'. */
  queueType?: QueueType
  /** Levels of priority, 1 to 10. Default 1: none. Quorum queues: a queue for each level; classic ones: `x-max-priority`. */
  priorityLevels?: number
  /** False: use the queues as they are; they must exist. Default true. */
  declare?: boolean
}

export interface ControlOptions {
  /** The fanout exchange that carries commands. Default `async_farm.supervisor`. */
  controlExchange?: string
  /** The direct exchange that carries events. Default `async_farm.worker`. */
  eventExchange?: string
  /** Shared by nodes and operators: nodes that have one obey only commands signed with it. White space around it does not count. Default none. */
  secret?: string
}

export const CONNECTION_NAMES = ['url', 'tls'] as const
export const FIRST_CONNECTION_NAMES = ['connectTimeout'] as const
export const QUEUE_NAMES = ['queueType', 'priorityLevels', 'declare'] as const
export const CONTROL_NAMES = ['controlExchange', 'eventExchange', 'secret'] as const

type Given = Readonly<Record<string, unknown>>

const text = (given: Given, name: string): string | undefined => {
  const value = given[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '') throw refuse(name, 'a non-empty text', value)
  return value
}

export const readUrl = (given: Given): string => {
  const url = text(given, 'url') ?? DEFAULT_URL
  // Not quoted: it may hold a password.
  if (!/^amqps?:\/\//.test(url) || !URL.canParse(url))
    throw new TypeError("Option 'url' must be a URL of the form amqp://user:password@host:5672/vhost (amqps:// for TLS).")
  return url
}

export const readEndpoint = (given: Given): Endpoint => {
  const url = readUrl(given)
  return { url, tls: readTls(given.tls, url) }
}

export const readConnectTimeout = (given: Given): number => (given.connectTimeout === undefined ? 30_000 : milliseconds('connectTimeout', given.connectTimeout))

/** AMQP's short texts, and room for what is put behind a queue's name. */
const MAX_NAME = 200

export const readQueueName = (name: string, value: unknown): string => {
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > MAX_NAME) throw refuse(name, `a name of 1 to ${MAX_NAME} bytes`, value)
  if (value.startsWith('amq.')) throw refuse(name, "a name that does not begin with 'amq.', which RabbitMQ keeps for itself", value)
  return value
}

/** `queue` or `queues`; one default. */
export const readQueues = (given: Given): string[] => {
  if (given.queue !== undefined && given.queues !== undefined)
    throw new TypeError("Option 'queue' and option 'queues' were both given: name the queues in one of them.")
  if (given.queues === undefined) return [given.queue === undefined ? DEFAULT_QUEUE : readQueueName('queue', given.queue)]
  if (!Array.isArray(given.queues) || given.queues.length === 0) throw refuse('queues', 'a non-empty array of names', given.queues)
  return [...new Set(given.queues.map((each: unknown, index) => readQueueName(`queues[${index}]`, each)))]
}

export const readShape = (given: Given): QueueShape => ({
  queueType: given.queueType === undefined ? 'quorum' : oneOf('queueType', given.queueType, ['quorum', 'classic']),
  priorityLevels: given.priorityLevels === undefined ? 1 : count('priorityLevels', given.priorityLevels, 1, MAX_LEVELS),
  declare: given.declare === undefined ? true : flag('declare', given.declare),
})

export const readControl = (given: Given): { controlExchange: string; eventExchange: string; secret: string | undefined } => ({
  controlExchange: given.controlExchange === undefined ? DEFAULT_CONTROL_EXCHANGE : readQueueName('controlExchange', given.controlExchange),
  eventExchange: given.eventExchange === undefined ? DEFAULT_EVENT_EXCHANGE : readQueueName('eventExchange', given.eventExchange),
  secret: readSecret(given.secret),
})

const readSecret = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  // A secret that was read from a file ends with a line's end.
  const secret = typeof value === 'string' ? value.trim() : ''
  // Not quoted: it is a secret.
  if (secret.length < 8) throw new TypeError("Option 'secret' must be a text of at least 8 characters, without the white space around it.")
  return secret
}
