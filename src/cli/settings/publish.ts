/** The options of a job, as flags set them. */
import { PUBLISH_OPTIONS } from '../../amqp/publishing/publish-options.js'
import { MAX_DELAY } from '../../amqp/topology/delay-steps.js'
import { FOREVER, JOB_DEFAULTS } from '../../queue/jobs/add-options.js'
import { UsageError } from '../exit.js'
import type { PublishOptions } from '../farm.js'
import { brokerKind } from './address.js'
import { refuseFlags } from './faktory.js'
import { checkLimits, type Environment, type Flags, isTyped, readSetting, type Setting } from './setting.js'
import { alteredInteger, count, duration, type Reader, readerOf, shortTextWith } from './values.js'

const OPTIONS = {
  delay: { flag: '--delay', reader: duration({ zero: true, max: MAX_DELAY }) },
  ttl: { flag: '--ttl', reader: readerOf(PUBLISH_OPTIONS.ttl) },
  softTimeLimit: { flag: '--soft-time-limit', reader: readerOf(PUBLISH_OPTIONS.softTimeLimit) },
  timeLimit: { flag: '--time-limit', reader: readerOf(PUBLISH_OPTIONS.timeLimit) },
  priority: { flag: '--priority', reader: readerOf(PUBLISH_OPTIONS.priority) },
  maxAttempts: { flag: '--max-attempts', reader: readerOf(PUBLISH_OPTIONS.maxAttempts) },
  correlationId: { flag: '--correlation-id', reader: shortTextWith('an id') },
} as const satisfies { [K in keyof PublishOptions]?: Setting<unknown> }

/** For a queue in a file, which takes more of these. */
const FILE_OPTIONS = {
  ...OPTIONS,
  delay: { flag: '--delay', reader: duration({ zero: true, max: FOREVER }) },
  ttl: { flag: '--ttl', reader: duration({ max: FOREVER }) },
  priority: { flag: '--priority', reader: readerOf(JOB_DEFAULTS.priority) },
} as const

const DAY = 86_400_000
const MINUTE = 60_000

const retries: Reader<number> = {
  wants: 'a whole number of at least -1 (0: a job that fails is forgotten; -1: it is dead at once)',
  read: (text) => (/^(-1|\d{1,9})$/.test(text) ? Number(text) : undefined),
}

const reservation: Reader<number> = {
  wants: 'a time from 1m to 1d, in seconds or with a unit (Faktory takes a shorter time for one minute)',
  read(text) {
    const ms = duration({ max: DAY }).read(text)
    return ms === undefined || ms < MINUTE ? undefined : ms
  },
}

const object: Reader<Record<string, unknown>> = {
  wants: `a JSON object, such as '{"locale":"de"}', without integers beyond 2^53 - 1, and without names that begin with '_', which are the server's`,
  read(text) {
    try {
      const value: unknown = JSON.parse(text)
      if (typeof value !== 'object' || value === null || Array.isArray(value) || alteredInteger(text) !== undefined) return undefined
      return Object.keys(value).some((name) => name.startsWith('_')) ? undefined : (value as Record<string, unknown>)
    } catch {
      return undefined
    }
  },
}

const FAKTORY_OPTIONS = {
  delay: { flag: '--delay', reader: duration({ zero: true, max: Number.MAX_SAFE_INTEGER }) },
  retry: { flag: '--retry', reader: retries },
  reserveFor: { flag: '--reserve-for', reader: reservation },
  backtrace: { flag: '--backtrace', reader: count(0, 50) },
  custom: { flag: '--custom', reader: object },
  jid: { flag: '--jid', reader: { wants: 'an id of at least 8 characters', read: (text: string) => (text.length >= 8 ? text : undefined) } },
} as const satisfies { [K in keyof PublishOptions]?: Setting<unknown> }

/** What only Faktory has, for the help. */
export const FAKTORY_PUBLISH_FLAGS: readonly (readonly [usage: string, help: string])[] = [
  ['--retry <count>', 'Faktory: retries after a failure; default 25; 0: forgotten, -1: dead at once'],
  ['--reserve-for <time>', 'Faktory: that a worker has for the job, 1m to 1d; default 30m'],
  ['--backtrace <lines>', "Faktory: of an error's stack that is kept; default 0"],
  ['--custom <object>', 'Faktory: the context of the job, as a JSON object'],
  ['--jid <id>', "Faktory: the job's id"],
]

const flagsOf = (settings: Readonly<Record<string, Setting<unknown>>>): string[] =>
  Object.entries(settings).flatMap(([option, { flag }]) => (option === 'delay' || flag === undefined ? [] : flag))

const readAll = (settings: Readonly<Record<string, Setting<unknown>>>, flags: Flags, env: Environment): PublishOptions =>
  Object.fromEntries(Object.entries(settings).map(([option, setting]) => [option, readSetting(setting, flags, env)]))

const refuseForFaktory = (flags: Flags, url: string): void => {
  refuseFlags(['--wait'], flags, url, 'It keeps no results: let the task store its result where you look for it.')
  refuseFlags(['--priority'], flags, url, 'Publish urgent jobs to a queue of their own (--queue urgent), which workers fetch first.')
  refuseFlags(['--max-attempts'], flags, url, 'Its retries are --retry.')
  refuseFlags(flagsOf(OPTIONS), flags, url)
}

/** The options of the publication. Checked here, where the message can name flags. */
export const readPublishOptions = (flags: Flags, env: Environment, url: string): PublishOptions => {
  const kind = brokerKind(url)
  if (kind === 'Faktory') {
    refuseForFaktory(flags, url)
    return readAll(FAKTORY_OPTIONS, flags, env)
  }
  for (const flag of flagsOf(FAKTORY_OPTIONS)) if (isTyped(flag, flags)) throw new UsageError(`${flag} is for Faktory: leave it out for ${kind}.`)
  const options = readAll(kind === 'a queue in a file' ? FILE_OPTIONS : OPTIONS, flags, env)
  checkLimits(options)
  const { ttl, delay } = options
  if (ttl !== undefined && delay !== undefined && ttl <= delay) throw new UsageError('--ttl must be more than --delay, or the job expires before it may begin.')
  return options
}
