/** The flags and variables of a Faktory server. */
import { DEFAULT_QUEUE, queueName } from '../../faktory/worker/queue-order.js'
import { UsageError } from '../exit.js'
import { type BrokerKind, brokerKind } from './address.js'
import { type Environment, type Flags, isTyped, readSetting, type Setting } from './setting.js'
import { count, duration, passes, type Reader } from './values.js'

/** The options of `prefork/faktory` that the other brokers do not have. */
export interface FaktorySettings {
  /** Weights by queue; undefined: the queues are fetched in the order of their list. */
  readonly weights: Readonly<Record<string, number>> | undefined
  /** The path of the control sockets. */
  readonly control: string | undefined
  readonly fetchers: number | undefined
  /** ms */
  readonly reserveMargin: number | undefined
  readonly labels: readonly string[] | undefined
}

export const NO_FAKTORY: FaktorySettings = { weights: undefined, control: undefined, fetchers: undefined, reserveMargin: undefined, labels: undefined }

const path: Reader<string> = { wants: 'a path in a folder that exists, such as ./run/prefork', read: (text) => (text.trim() === '' ? undefined : text) }
const labels: Reader<string[]> = {
  wants: 'texts, several with commas between',
  read(text) {
    const all = text.split(',').map((each) => each.trim())
    return all.includes('') ? undefined : all
  },
}

const SETTINGS = {
  control: { flag: '--control', variable: 'ASYNC_FARM_CONTROL_PATH', reader: path },
  fetchers: { flag: '--fetchers', reader: count(1, 1_000) },
  reserveMargin: { flag: '--reserve-margin', reader: duration({ max: 30_000 }) },
  labels: { flag: '--labels', reader: labels },
} as const satisfies Record<string, Setting<unknown>>

/** By option of `prefork/faktory`: its flag. */
export const FAKTORY_SOURCES: Readonly<Record<string, string>> = Object.fromEntries(Object.entries(SETTINGS).map(([option, { flag }]) => [option, flag]))

/** The flags that only `prefork work` has. */
export const FAKTORY_WORK_FLAGS: readonly (readonly [usage: string, help: string])[] = [
  ['--fetchers <count>', 'Faktory: connections that fetch at once; default 10'],
  ['--reserve-margin <time>', 'Faktory: before the end of a reservation, at which its job is ended; default 5s'],
  ['--labels <texts>', 'Faktory: what the server shows of the worker; default prefork,node'],
]

/** Variables with their defaults and meaning, for the help. */
export const FAKTORY_VARIABLES: readonly (readonly [variable: string, fallback: string, help: string])[] = [
  ['FAKTORY_URL', 'none', 'the address of a Faktory server, instead of RABBITMQ_URL'],
  ['FAKTORY_PROVIDER', 'none', 'the name of the variable that holds that address'],
  ['FAKTORY_TLS_CA', 'those of Node', 'a file: the certificate authorities accepted for Faktory (tcp+tls)'],
  ['FAKTORY_TLS_CERT', 'none', 'a file: the certificate of this client'],
  ['FAKTORY_TLS_KEY', 'none', 'a file: its key'],
  ['FAKTORY_TLS_PASSPHRASE', 'none', 'passphrase of that key, if it is encrypted'],
  ['FAKTORY_TLS_SERVERNAME', 'that of the URL', "the name in Faktory's certificate"],
  ['ASYNC_FARM_CONTROL_PATH', 'none', 'Faktory: the path of the control sockets of nodes'],
]

/** Refuses flags that would have no effect. Variables may be those of other commands. */
export const refuseFlags = (typed: readonly string[], flags: Flags, url: string, reason = ''): void => {
  for (const flag of typed)
    if (isTyped(flag, flags)) throw new UsageError(`${flag} has no effect under ${brokerKind(url)}: leave it out.${reason === '' ? '' : ` ${reason}`}`)
}

/** For the other brokers: what is for Faktory alone. `kind` is undefined where no broker is named. */
export const refuseFaktoryFlags = (flags: Flags, kind: BrokerKind | undefined): void => {
  const what = kind === undefined ? 'say where its server is, with --broker tcp://:password@host:7419 or FAKTORY_URL' : `leave it out for ${kind}`
  for (const { flag } of Object.values(SETTINGS)) if (isTyped(flag, flags)) throw new UsageError(`${flag} is for Faktory: ${what}.`)
}

const NUMBER = String.raw`-?(?:\d+(?:\.\d+)?|\.\d+)`
const WEIGHT = new RegExp(`^([^,]+),\\s*(${NUMBER})$`)
const ALONE = new RegExp(`^\\s*${NUMBER}\\s*$`)

/**
 * The queues: `--queue critical,5 --queue default,1` gives each a weight; `--queue critical,default` is a list in strict order. A variable separates what
 * the flags separate by white space.
 */
const readQueues = (flags: Flags, env: Environment): { queues: readonly string[]; weights: FaktorySettings['weights'] } => {
  const typed = [flags.queue].flat().filter((each): each is string => typeof each === 'string')
  const [source, given] =
    typed.length > 0 ? ['--queue', typed] : ['ASYNC_FARM_JOBS_QUEUE', (env.ASYNC_FARM_JOBS_QUEUE ?? '').split(/\s+/).filter((each) => each !== '')]
  if (given.length === 0) return { queues: [DEFAULT_QUEUE], weights: undefined }
  const mixed = given.find((each) => !WEIGHT.test(each.trim()) && each.includes(',') && each.split(',').some((part) => ALONE.test(part)))
  if (mixed !== undefined)
    throw new UsageError(
      `${source} has several weights in '${mixed}': ${source === '--queue' ? 'give each queue a flag of its own, --queue critical,5 --queue default,1' : "put white space between the queues, 'critical,5 default,1'"}.`,
    )
  const weighted = given.map((each) => WEIGHT.exec(each.trim()))
  const names = weighted.flatMap((match, index) => (match === null ? given[index]!.split(',').map((each) => each.trim()) : match[1]!.trim()))
  const wrong = names.find((name) => !passes(queueName)(name))
  if (wrong !== undefined)
    throw new UsageError(`${source} must be names of queues, of letters, digits and . _ -, each with a weight or none; it was given '${wrong}'.`)
  const queues = [...new Set(names)]
  if (weighted.every((match) => match === null)) return { queues, weights: undefined }
  if (weighted.includes(null)) throw new UsageError(`${source}: give every queue a weight (critical,5), or none.`)
  if (queues.length < names.length) throw new UsageError(`${source} names a queue twice.`)
  const weights = weighted.map((match) => [match![1]!.trim(), Number(match![2])] as const)
  const light = weights.find(([, weight]) => weight <= 0)
  if (light !== undefined) throw new UsageError(`${source}: the weight of ${light[0]} must be above 0.`)
  return { queues, weights: Object.fromEntries(weights) }
}

export const readFaktory = (flags: Flags, env: Environment): FaktorySettings & { readonly queues: readonly string[] } => ({
  ...readQueues(flags, env),
  control: readSetting(SETTINGS.control, flags, env),
  fetchers: readSetting(SETTINGS.fetchers, flags, env),
  reserveMargin: readSetting(SETTINGS.reserveMargin, flags, env),
  labels: readSetting(SETTINGS.labels, flags, env),
})
