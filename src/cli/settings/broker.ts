import { type Environment, type Flags, readSetting, type Setting } from './setting.js'
import { brokerName, brokerNames, brokerUrl, count, duration, oneOf } from './values.js'

/** Where the broker is and what its parts are called. */
export interface BrokerSettings {
  readonly url: string
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
const QUEUES: Setting<string[]> = { flag: '--queue', variable: 'ASYNC_FARM_JOBS_QUEUE', reader: brokerNames('the name of a queue') }
const CONTROL: Setting<string> = { flag: '--control-exchange', variable: 'ASYNC_FARM_CONTROL_EXCHANGE', reader: brokerName('the name of an exchange') }
const WORKER: Setting<string> = { flag: '--worker-exchange', variable: 'ASYNC_FARM_WORKER_EXCHANGE', reader: brokerName('the name of an exchange') }
// No flag: a command line can be read by everybody on the machine.
const SECRET: Setting<string> = {
  flag: undefined,
  variable: 'ASYNC_FARM_SECRET',
  reader: { wants: 'a text of at least 8 characters', read: (text) => (text.length >= 8 ? text : undefined), secret: true },
}
const QUEUE_TYPE: Setting<'quorum' | 'classic'> = { flag: '--queue-type', variable: undefined, reader: oneOf('quorum', 'classic') }
const PRIORITY_LEVELS: Setting<number> = { flag: '--priority-levels', variable: undefined, reader: count(1, 10) }

export const readBroker = (flags: Flags, env: Environment): BrokerSettings => ({
  url: readSetting(URL_SETTING, flags, env) ?? DEFAULT_URL,
  queues: readSetting(QUEUES, flags, env) ?? ['async_farm.jobs'],
  controlExchange: readSetting(CONTROL, flags, env) ?? 'async_farm.supervisor',
  workerExchange: readSetting(WORKER, flags, env) ?? 'async_farm.worker',
  secret: readSetting(SECRET, flags, env),
  queueType: readSetting(QUEUE_TYPE, flags, env) ?? 'quorum',
  priorityLevels: readSetting(PRIORITY_LEVELS, flags, env) ?? 1,
})

const TIMEOUT: Setting<number> = { flag: '--timeout', variable: undefined, reader: duration() }

/** ms that a command waits for the broker and for answers. */
export const readTimeout = (flags: Flags, fallback: number): number => readSetting(TIMEOUT, flags, {}) ?? fallback

/** A URL that may be shown: without its password. */
export const withoutPassword = (url: string): string => {
  const shown = new URL(url)
  if (shown.password !== '') shown.password = '***'
  return shown.href
}
