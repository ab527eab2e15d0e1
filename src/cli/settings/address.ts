/** Where the jobs are: a RabbitMQ, a Faktory server, or a queue in a file. */
import { brokerUrl } from '../../amqp/options/client-options.js'
import { faktoryUrl, urlOfEnvironment } from '../../faktory/protocol/address.js'
import { UsageError } from '../exit.js'
import { type Environment, type Flags, readSetting, type Setting } from './setting.js'
import { passes, type Reader } from './values.js'

/** What is behind an address. */
export type BrokerKind = 'RabbitMQ' | 'Faktory' | 'a queue in a file'

export const brokerKind = (url: string): BrokerKind => {
  if (url.startsWith('sqlite:')) return 'a queue in a file'
  return /^tcp(\+tls)?:/i.test(url) ? 'Faktory' : 'RabbitMQ'
}

/** The file of a queue that is in one. Undefined: the address is another. */
export const storePath = (url: string): string | undefined => (brokerKind(url) === 'a queue in a file' ? url.slice('sqlite:'.length) : undefined)

const isAddress = (text: string): boolean => {
  const kind = brokerKind(text)
  if (kind === 'a queue in a file') return text !== 'sqlite:'
  if (kind === 'Faktory') return passes(faktoryUrl)(text)
  return passes(brokerUrl)(text) && new URL(text).hostname !== ''
}

const address: Reader<string> = {
  // It may hold a password.
  secret: true,
  wants:
    'the URL of a RabbitMQ, such as amqp://user:password@host:5672/vhost, or of a Faktory server, such as tcp://:password@host:7419, or a queue in a file, such as sqlite:./jobs.db',
  read: (text) => (isAddress(text) ? text : undefined),
}

export const URL_SETTING: Setting<string> = { flag: '--broker', variable: 'RABBITMQ_URL', reader: address }

/** The URL of Faktory's own variables, FAKTORY_URL or the one that FAKTORY_PROVIDER names. */
const readFaktoryUrl = (env: Environment): string | undefined => {
  let found: ReturnType<typeof urlOfEnvironment>
  try {
    found = urlOfEnvironment(env)
  } catch (error) {
    throw new UsageError(`${(error as { option?: string }).option} ${(error as { reason?: string }).reason}.`)
  }
  if (found === undefined) return undefined
  const { variable } = found
  const wants = 'the URL of a Faktory server, such as tcp://:password@host:7419'
  return readSetting({ variable, reader: { wants, secret: true, read: (text) => (passes(faktoryUrl)(text) ? text : undefined) } }, {}, env)
}

/** The address that flag and variables give; undefined: none does. Throws UsageError when variables name two brokers. */
export const readUrl = (flags: Flags, env: Environment): string | undefined => {
  const typed = readSetting(URL_SETTING, flags, {})
  if (typed !== undefined) return typed
  const rabbit = readSetting(URL_SETTING, {}, env)
  const faktory = readFaktoryUrl(env)
  if (rabbit !== undefined && faktory !== undefined)
    throw new UsageError('RABBITMQ_URL and FAKTORY_URL (or FAKTORY_PROVIDER) are both set: say with --broker which of them it is.')
  return rabbit ?? faktory
}
