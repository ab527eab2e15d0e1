import { CONNECTION_OPTIONS, CONTROL_OPTIONS, QUEUE_OPTIONS } from '../../amqp/options/client-options.js'
import { DEFAULT_QUEUE, type QueueType } from '../../amqp/topology/topology.js'
import { DEFAULT_QUEUE as DEFAULT_FILE_QUEUE } from '../../queue/jobs/names.js'
import { storeAddress } from '../../queue/store/address.js'
import type { OptionError } from '../../util/checks.js'
import { readKnown } from '../../util/option-table.js'
import { hasPassword } from '../../util/redact.js'
import { UsageError } from '../exit.js'
import { type Environment, type Flags, isTyped, readSetting, type Setting } from './setting.js'
import { brokerAddress, brokerName, brokerNames, contents, duration, name, type Reader, readerOf, secretText } from './values.js'

/** The options of `prefork/amqp`, as flags and variables set them. */
export interface BrokerSettings {
  readonly url: string
  /** The contents of PEM files, the passphrase of the key, and the name in the broker's certificate. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer; readonly passphrase?: string; readonly servername?: string } | undefined
  /** Jobs are taken from all of them and published to the first. */
  readonly queues: readonly string[]
  readonly controlExchange: string
  readonly eventExchange: string
  /** Signs commands. */
  readonly secret: string | undefined
  /** How the queues are declared; the same for every node and publisher. */
  readonly queueType: QueueType
  readonly priorityLevels: number
}

const DEFAULTS = { queues: [DEFAULT_QUEUE], ...readKnown({ ...CONNECTION_OPTIONS, ...QUEUE_OPTIONS, ...CONTROL_OPTIONS }, {}) }

const exchangeName = brokerName('the name of an exchange')

/** By option of `prefork/amqp`, and part of it. */
const SETTINGS = {
  url: { flag: '--broker', variable: 'RABBITMQ_URL', reader: brokerAddress },
  'tls.ca': { variable: 'RABBITMQ_TLS_CA', reader: contents },
  'tls.cert': { variable: 'RABBITMQ_TLS_CERT', reader: contents },
  'tls.key': { variable: 'RABBITMQ_TLS_KEY', reader: contents },
  'tls.passphrase': {
    // No flag, as for the secret.
    variable: 'RABBITMQ_TLS_PASSPHRASE',
    reader: { wants: 'the passphrase of the key', read: (text: string) => text, secret: true },
    verbatim: true,
  },
  'tls.servername': { variable: 'RABBITMQ_TLS_SERVERNAME', reader: name("the name in RabbitMQ's certificate,") },
  queue: { flag: '--queue', variable: 'ASYNC_FARM_JOBS_QUEUE', reader: brokerNames('the name of a queue') },
  queueType: { flag: '--queue-type', reader: readerOf(QUEUE_OPTIONS.queueType) as Reader<QueueType> },
  priorityLevels: { flag: '--priority-levels', reader: readerOf(QUEUE_OPTIONS.priorityLevels) as Reader<number> },
  controlExchange: { flag: '--control-exchange', variable: 'ASYNC_FARM_CONTROL_EXCHANGE', reader: exchangeName },
  eventExchange: { flag: '--worker-exchange', variable: 'ASYNC_FARM_WORKER_EXCHANGE', reader: exchangeName },
  secret: {
    // No flag: every user of the machine can read a command line.
    variable: 'ASYNC_FARM_SECRET',
    reader: secretText,
    // A variable that is set is meant to protect the node: white space alone must not leave it unprotected.
    refuseBlank: true,
  },
} as const satisfies Record<string, Setting<unknown>>

const sourceOf = ({ flag, variable }: Setting<unknown>): string => [flag, variable].filter((each) => each !== undefined).join(' or ')

/** By option of `prefork/amqp`, and part of it: the flag or variable that sets it. */
export const BROKER_SOURCES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(SETTINGS).map(([option, setting]) => [option, sourceOf(setting)])),
  tls: 'RABBITMQ_TLS_CA, _CERT, _KEY and _PASSPHRASE',
}

/** Variables of the broker with their defaults and meaning, for the help. */
export const BROKER_VARIABLES: readonly (readonly [variable: string, fallback: string, help: string])[] = [
  ['RABBITMQ_URL', DEFAULTS.url, "RabbitMQ's address"],
  ['RABBITMQ_TLS_CA', 'those of Node', 'a file: the certificate authorities accepted for RabbitMQ (amqps)'],
  ['RABBITMQ_TLS_CERT', 'none', 'a file: the certificate of this client'],
  ['RABBITMQ_TLS_KEY', 'none', 'a file: its key'],
  ['RABBITMQ_TLS_PASSPHRASE', 'none', 'passphrase of that key, if it is encrypted'],
  ['RABBITMQ_TLS_SERVERNAME', 'that of the URL', "the name in RabbitMQ's certificate"],
  ['ASYNC_FARM_JOBS_QUEUE', DEFAULT_QUEUE, 'queues, separated by commas'],
  ['ASYNC_FARM_CONTROL_EXCHANGE', DEFAULTS.controlExchange, 'commands to the nodes'],
  ['ASYNC_FARM_WORKER_EXCHANGE', DEFAULTS.eventExchange, 'events of the nodes'],
  ['ASYNC_FARM_SECRET', 'none', 'commands must be signed with it'],
]

const readTls = (url: string, flags: Flags, env: Environment): BrokerSettings['tls'] => {
  const ca = readSetting(SETTINGS['tls.ca'], flags, env)
  const cert = readSetting(SETTINGS['tls.cert'], flags, env)
  const key = readSetting(SETTINGS['tls.key'], flags, env)
  const passphrase = readSetting(SETTINGS['tls.passphrase'], flags, env)
  if (passphrase !== undefined && key === undefined)
    throw new UsageError('RABBITMQ_TLS_PASSPHRASE opens the key that RABBITMQ_TLS_KEY names: set both, or leave it out.')
  const servername = readSetting(SETTINGS['tls.servername'], flags, env)
  if (ca === undefined && cert === undefined && key === undefined && servername === undefined) return undefined
  if (!url.startsWith('amqps:'))
    throw new UsageError('RABBITMQ_TLS_CA, _CERT, _KEY and _SERVERNAME are for an encrypted connection: let --broker or RABBITMQ_URL begin with amqps://.')
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY come together: a certificate and its key.')
  return { ca, cert, key, passphrase, servername }
}

/** The file of a queue that is in one. Undefined: the address is that of a RabbitMQ. */
export const storePath = (url: string): string | undefined => (url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined)

/** A flag that would have no effect is refused. Variables may be those of other commands. */
const refuseRabbitFlags = (flags: Flags): void => {
  for (const { flag } of [SETTINGS.queueType, SETTINGS.priorityLevels, SETTINGS.controlExchange, SETTINGS.eventExchange])
    if (isTyped(flag, flags)) throw new UsageError(`${flag} is for RabbitMQ: leave it out for a queue in a file.`)
}

const checkStoreAddress = (url: string): void => {
  try {
    storeAddress('store', url)
  } catch (error) {
    throw new UsageError(`${BROKER_SOURCES.url} ${(error as OptionError).reason}.`)
  }
}

export const readBroker = (flags: Flags, env: Environment): BrokerSettings => {
  const url = readSetting(SETTINGS.url, flags, env) ?? DEFAULTS.url
  if (storePath(url) !== undefined) {
    checkStoreAddress(url)
    refuseRabbitFlags(flags)
    const queues = readSetting(SETTINGS.queue, flags, env) ?? [DEFAULT_FILE_QUEUE]
    return { ...DEFAULTS, url, tls: undefined, queues, secret: undefined }
  }
  return {
    url,
    tls: readTls(url, flags, env),
    queues: readSetting(SETTINGS.queue, flags, env) ?? DEFAULTS.queues,
    controlExchange: readSetting(SETTINGS.controlExchange, flags, env) ?? DEFAULTS.controlExchange,
    eventExchange: readSetting(SETTINGS.eventExchange, flags, env) ?? DEFAULTS.eventExchange,
    secret: readSetting(SETTINGS.secret, flags, env),
    queueType: readSetting(SETTINGS.queueType, flags, env) ?? DEFAULTS.queueType,
    priorityLevels: readSetting(SETTINGS.priorityLevels, flags, env) ?? DEFAULTS.priorityLevels,
  }
}

const TIMEOUT: Setting<number> = { flag: '--timeout', reader: duration() }

/** ms for the whole command, the answers and the close included. */
export const readTimeout = (flags: Flags): number | undefined => readSetting(TIMEOUT, flags, {})

/**
 * The environment of workers: without the farm's secret, the passphrase of the key, and the address of RabbitMQ where it holds a password.
 * Tasks, and whatever they spawn or report, need none of them.
 */
export const withoutBrokerSecrets = (env: Environment): Record<string, string | undefined> => {
  const { ASYNC_FARM_SECRET: _secret, RABBITMQ_TLS_PASSPHRASE: _passphrase, RABBITMQ_URL: url, ...others } = env
  return url === undefined || hasPassword(url) ? others : { ...others, RABBITMQ_URL: url }
}
