import { UsageError } from '../exit.js'
import { type Environment, type Flags, readSetting, type Setting } from './setting.js'
import { brokerName, brokerNames, brokerUrl, contents, count, duration, name, oneOf } from './values.js'

/** Where the broker is and what its parts are called. */
export interface BrokerSettings {
  readonly url: string
  /** The contents of PEM files, what opens the key, and the name that the broker's certificate has. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer; readonly passphrase?: string; readonly servername?: string } | undefined
  /** Jobs are taken from all of them and published to the first. */
  readonly queues: readonly string[]
  readonly controlExchange: string
  readonly workerExchange: string
  /** Commands are signed with it, when there is one. */
  readonly secret: string | undefined
  /** How the queues are declared; the same for all who use them. */
  readonly queueType: 'quorum' | 'classic'
  readonly priorityLevels: number
}

export const DEFAULT_URL = 'amqp://guest:guest@127.0.0.1:5672/'

const URL_SETTING: Setting<string> = { flag: '--broker', variable: 'RABBITMQ_URL', reader: brokerUrl }
const TLS = {
  ca: { flag: undefined, variable: 'RABBITMQ_TLS_CA', reader: contents },
  cert: { flag: undefined, variable: 'RABBITMQ_TLS_CERT', reader: contents },
  key: { flag: undefined, variable: 'RABBITMQ_TLS_KEY', reader: contents },
} as const satisfies Record<string, Setting<Buffer>>
// No flag, as for the secret.
const PASSPHRASE: Setting<string> = {
  flag: undefined,
  variable: 'RABBITMQ_TLS_PASSPHRASE',
  reader: { wants: 'what opens the key', read: (text) => text, secret: true },
  verbatim: true,
}
const SERVERNAME: Setting<string> = { flag: undefined, variable: 'RABBITMQ_TLS_SERVERNAME', reader: name("the name in RabbitMQ's certificate,") }
const QUEUES: Setting<string[]> = { flag: '--queue', variable: 'ASYNC_FARM_JOBS_QUEUE', reader: brokerNames('the name of a queue') }
const CONTROL: Setting<string> = { flag: '--control-exchange', variable: 'ASYNC_FARM_CONTROL_EXCHANGE', reader: brokerName('the name of an exchange') }
const WORKER: Setting<string> = { flag: '--worker-exchange', variable: 'ASYNC_FARM_WORKER_EXCHANGE', reader: brokerName('the name of an exchange') }
// No flag: a command line can be read by everybody on the machine.
const SECRET: Setting<string> = {
  flag: undefined,
  variable: 'ASYNC_FARM_SECRET',
  reader: { wants: 'a text of at least 8 characters, without the white space around it', read: (text) => (text.length >= 8 ? text : undefined), secret: true },
  // Whoever sets it means to protect the node: blanks must not leave it open.
  refuseBlank: true,
}
const QUEUE_TYPE: Setting<'quorum' | 'classic'> = { flag: '--queue-type', variable: undefined, reader: oneOf('quorum', 'classic') }
const PRIORITY_LEVELS: Setting<number> = { flag: '--priority-levels', variable: undefined, reader: count(1, 10) }

const readTls = (url: string, flags: Flags, env: Environment): BrokerSettings['tls'] => {
  const [ca, cert, key] = [readSetting(TLS.ca, flags, env), readSetting(TLS.cert, flags, env), readSetting(TLS.key, flags, env)]
  const passphrase = readSetting(PASSPHRASE, flags, env)
  if (passphrase !== undefined && key === undefined)
    throw new UsageError('RABBITMQ_TLS_PASSPHRASE opens the key that RABBITMQ_TLS_KEY names: set both, or leave it out.')
  const servername = readSetting(SERVERNAME, flags, env)
  if (ca === undefined && cert === undefined && key === undefined && servername === undefined) return undefined
  if (!url.startsWith('amqps:'))
    throw new UsageError('RABBITMQ_TLS_CA, _CERT, _KEY and _SERVERNAME are for an encrypted connection: let --broker or RABBITMQ_URL begin with amqps://.')
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY come together: a certificate and its key.')
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(servername === undefined ? {} : { servername }),
  }
}

/** What the library says of the option `tls`, for whoever set the variables; undefined for any other error. */
export const tlsRefusal = (error: unknown): string | undefined => {
  if (!(error instanceof TypeError)) return undefined
  const [, , part, said] = /^Option 'tls(\.(ca|cert|key))?' (.+)$/s.exec(error.message) ?? []
  if (said === undefined) return undefined
  if (part === undefined) return `RABBITMQ_TLS_CA, _CERT, _KEY and _PASSPHRASE ${said.replace(/^cannot be used/, 'cannot be used together')}`
  return `RABBITMQ_TLS_${part.toUpperCase()} must name a PEM file, with its line '-----BEGIN …'.`
}

export const readBroker = (flags: Flags, env: Environment): BrokerSettings => {
  const url = readSetting(URL_SETTING, flags, env) ?? DEFAULT_URL
  return { url, tls: readTls(url, flags, env), ...readNames(flags, env) }
}

const readNames = (flags: Flags, env: Environment): Omit<BrokerSettings, 'url' | 'tls'> => ({
  queues: readSetting(QUEUES, flags, env) ?? ['async_farm.jobs'],
  controlExchange: readSetting(CONTROL, flags, env) ?? 'async_farm.supervisor',
  workerExchange: readSetting(WORKER, flags, env) ?? 'async_farm.worker',
  secret: readSetting(SECRET, flags, env),
  queueType: readSetting(QUEUE_TYPE, flags, env) ?? 'quorum',
  priorityLevels: readSetting(PRIORITY_LEVELS, flags, env) ?? 1,
})

const TIMEOUT: Setting<number> = { flag: '--timeout', variable: undefined, reader: duration() }

/** ms that a command may take, the broker's answers and the close included. */
export const readTimeout = (flags: Flags): number | undefined => readSetting(TIMEOUT, flags, {})

/** A URL that may be shown: without its password. */
export const withoutPassword = (url: string): string => {
  const shown = new URL(url)
  if (shown.password !== '') shown.password = '***'
  return shown.href
}
