import { CONNECTION_OPTIONS, CONTROL_OPTIONS, QUEUE_OPTIONS } from '../../amqp/options/client-options.js'
import { DEFAULT_QUEUE, type QueueType } from '../../amqp/topology/topology.js'
import { DEFAULT_QUEUE as DEFAULT_FILE_QUEUE } from '../../queue/jobs/names.js'
import { storeAddress } from '../../queue/store/address.js'
import type { OptionError } from '../../util/checks.js'
import { readKnown } from '../../util/option-table.js'
import { hasPassword } from '../../util/redact.js'
import { UsageError } from '../exit.js'
import { brokerKind, readUrl, URL_SETTING } from './address.js'
import { FAKTORY_SOURCES, FAKTORY_VARIABLES, type FaktorySettings, NO_FAKTORY, readFaktory, refuseFaktoryFlags, refuseFlags } from './faktory.js'
import { type Environment, type Flags, isTyped, readSetting, type Setting } from './setting.js'
import { readTls, type TlsFiles, tlsSettings } from './tls.js'
import { brokerName, brokerNames, duration, type Reader, readerOf, secretText } from './values.js'

/** The options of the broker's library, as flags and variables set them. */
export interface BrokerSettings extends FaktorySettings {
  readonly url: string
  readonly tls: TlsFiles | undefined
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

const RABBITMQ_TLS = tlsSettings('RABBITMQ', 'RabbitMQ')
const FAKTORY_TLS = tlsSettings('FAKTORY', 'Faktory')

/** By option of `prefork/amqp`, and part of it. */
const SETTINGS = {
  url: URL_SETTING,
  ...RABBITMQ_TLS,
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

/** By option of the broker's library, and part of it: the flag or variable that sets it. */
export const BROKER_SOURCES: Readonly<Record<string, string>> = {
  ...FAKTORY_SOURCES,
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
  ['ASYNC_FARM_JOBS_QUEUE', `${DEFAULT_QUEUE}; Faktory, a file: default`, 'queues, separated by commas'],
  ['ASYNC_FARM_CONTROL_EXCHANGE', DEFAULTS.controlExchange, 'commands to the nodes'],
  ['ASYNC_FARM_WORKER_EXCHANGE', DEFAULTS.eventExchange, 'events of the nodes'],
  ['ASYNC_FARM_SECRET', 'none', 'commands must be signed with it'],
  ...FAKTORY_VARIABLES,
]

const RABBITMQ_ONLY = [SETTINGS.queueType, SETTINGS.priorityLevels, SETTINGS.controlExchange, SETTINGS.eventExchange].map(({ flag }) => flag)

const checkStoreAddress = (url: string): void => {
  try {
    storeAddress('store', url)
  } catch (error) {
    throw new UsageError(`${BROKER_SOURCES.url} ${(error as OptionError).reason}.`)
  }
}

const readQueueFile = (url: string, flags: Flags, env: Environment): BrokerSettings => {
  checkStoreAddress(url)
  for (const flag of RABBITMQ_ONLY) if (isTyped(flag, flags)) throw new UsageError(`${flag} is for RabbitMQ: leave it out for a queue in a file.`)
  const queues = readSetting(SETTINGS.queue, flags, env) ?? [DEFAULT_FILE_QUEUE]
  return { ...DEFAULTS, ...NO_FAKTORY, url, tls: undefined, queues, secret: undefined }
}

const readFaktoryServer = (url: string, flags: Flags, env: Environment): BrokerSettings => {
  refuseFlags(RABBITMQ_ONLY, flags, url)
  const tls = readTls(FAKTORY_TLS, { prefix: 'FAKTORY', url, scheme: 'tcp+tls', sources: '--broker or FAKTORY_URL' }, env)
  return { ...DEFAULTS, ...readFaktory(flags, env), url, tls, secret: undefined }
}

export const readBroker = (flags: Flags, env: Environment): BrokerSettings => {
  const given = readUrl(flags, env)
  const url = given ?? DEFAULTS.url
  const kind = brokerKind(url)
  if (kind === 'Faktory') return readFaktoryServer(url, flags, env)
  refuseFaktoryFlags(flags, given === undefined ? undefined : kind)
  if (kind === 'a queue in a file') return readQueueFile(url, flags, env)
  return {
    ...NO_FAKTORY,
    url,
    tls: readTls(RABBITMQ_TLS, { prefix: 'RABBITMQ', url, scheme: 'amqps', sources: '--broker or RABBITMQ_URL' }, env),
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

const SECRETS: ReadonlySet<string> = new Set([
  'ASYNC_FARM_SECRET',
  'ASYNC_FARM_HTTP_TOKEN',
  'RABBITMQ_TLS_PASSPHRASE',
  'FAKTORY_TLS_PASSPHRASE',
  'FAKTORY_PASSWORD',
])

/**
 * The environment of workers: without the farm's secret, the dashboard's token, passphrases of keys, and addresses of brokers that hold a password. Tasks, and whatever
 * they spawn or report, need none of them.
 */
export const withoutBrokerSecrets = (env: Environment): Record<string, string | undefined> => {
  const provider = env.FAKTORY_PROVIDER
  const hidden = new Set(['RABBITMQ_URL', 'FAKTORY_URL', provider].filter((each) => each !== undefined && env[each] !== undefined && hasPassword(env[each])))
  // It would name a variable that is not there.
  if (hidden.has(provider)) hidden.add('FAKTORY_PROVIDER')
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.has(name) && !hidden.has(name)))
}
