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
  // Its own check says what is wrong.
  if (kind === 'Faktory') return true
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

/** Throws UsageError with the reason of the library's own check, which does not show the URL. */
const checkFaktoryUrl = (source: string, url: string): string => {
  try {
    return faktoryUrl(source, url)
  } catch (error) {
    throw new UsageError(`${source} ${(error as { reason?: string }).reason}.`)
  }
}

const checked = (source: string, url: string | undefined): string | undefined =>
  url !== undefined && brokerKind(url) === 'Faktory' ? checkFaktoryUrl(source, url) : url

/** The URL of Faktory's own variables, FAKTORY_URL or the one that FAKTORY_PROVIDER names. */
const readFaktoryUrl = (env: Environment): string | undefined => {
  let found: ReturnType<typeof urlOfEnvironment>
  try {
    found = urlOfEnvironment(env)
  } catch (error) {
    throw new UsageError(`${(error as { option?: string }).option} ${(error as { reason?: string }).reason}.`)
  }
  return found === undefined || found.url.trim() === '' ? undefined : checkFaktoryUrl(found.variable, found.url.trim())
}

/** The address that flag and variables give; undefined: none does. Throws UsageError when variables name two brokers. */
export const readUrl = (flags: Flags, env: Environment): string | undefined => {
  const typed = checked('--broker', readSetting(URL_SETTING, flags, {}))
  if (typed !== undefined) return typed
  const rabbit = checked('RABBITMQ_URL', readSetting(URL_SETTING, {}, env))
  const faktory = readFaktoryUrl(env)
  if (rabbit !== undefined && faktory !== undefined)
    throw new UsageError('RABBITMQ_URL and FAKTORY_URL (or FAKTORY_PROVIDER) are both set: say with --broker which of them it is.')
  return rabbit ?? faktory
}
