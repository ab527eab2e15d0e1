import { type Backoff, backoff } from '../../util/backoff.js'
import { type Check, checkLimits, choice, countFrom, milliseconds, OptionError, objectWith, plainObject, refusal } from '../../util/checks.js'
import { LIMITS } from '../../util/limits.js'
import { type OptionTable, type OptionValues, option, readOptions } from '../../util/option-table.js'
import type { Retention } from '../store/store.js'
import { validName } from './names.js'

/** What a queue's `defaults` may set for all its jobs. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface JobDefaults {
  /** ms until the job may begin. Not with `runAt`. Default none. */
  delay?: number
  /** ms from the call, a delay included: a job that has not begun by then expires. Default none. */
  ttl?: number
  /** Higher first: a whole number from -1,000,000 to 1,000,000. Default 0. */
  priority?: number
  /** Attempts in all, the first included. Default the task's or the node's. */
  maxAttempts?: number
  /** The wait between attempts. Default the task's or the node's. */
  backoff?: Backoff
  /** ms from the start until the task's worker is killed. Default the task's or the node's. */
  timeLimit?: number
  /** ms from the start until the task's signal aborts. Default the task's or the node's. */
  softTimeLimit?: number
  /** How often the job is run again after its worker, or its node, died. Default the task's or the node's. */
  retryLost?: number
  /** How long the ended job is kept: `{ completed: { age, count }, failed: { age, count } }`, ms, and how many others of its queue and state may end after it. Default 1 h and 10,000, failed 7 days and 10,000. */
  keep?: Retention
}

/** Options of a job. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface AddOptions extends JobDefaults {
  /** 1 to 255 bytes of UTF-8, unique in its queue for as long as the job is kept. Default a UUID of version 7. */
  id?: string
  /** A Date, or ms since the epoch: the job does not begin before. Default at once. */
  runAt?: Date | number
  /** Ids of jobs of the queue that must succeed first. Their results are in `currentJob().delivery.results`. Default none. */
  dependsOn?: readonly string[]
  /** What becomes of the job when one of these does not succeed. Default 'fail'. */
  onFailedDependency?: 'fail' | 'run'
  /** While a job with this key is unfinished, and for `ttl` ms after it was added, no other is added: the answer is the first. Default none. */
  dedup?: { key: string; ttl?: number }
  /** What `currentJob().context` returns in the task. Default: inside a task, the context of the running job; else none. */
  context?: unknown
}

/** The longest delay, ttl and retention, ms: 31,000 years. A larger number would not be exact. */
export const FOREVER = 1e15

const duration: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0) || value > FOREVER) throw refusal(name, 'a number of milliseconds, 0 or more', value)
  return Math.ceil(value)
}

const positiveDuration: Check<number> = (name, value) => {
  if (value === 0) throw refusal(name, 'a number of milliseconds above 0', value)
  return duration(name, value)
}

const time: Check<number> = (name, value) => {
  const at = value instanceof Date ? value.getTime() : value
  if (typeof at !== 'number' || !(Math.abs(at) <= 8.64e15)) throw refusal(name, 'a Date, or a number of milliseconds since the epoch', value)
  return Math.ceil(at)
}

// Stored as JSON, which has no Infinity.
const orForever =
  (check: Check<number>): Check<number> =>
  (name, value) =>
    value === Number.POSITIVE_INFINITY ? FOREVER : check(name, value)

const bound: Check<{ age?: number; count?: number }> = (name, value) => {
  const { age, count } = objectWith(name, value, ['age', 'count'])
  return {
    ...(age === undefined ? undefined : { age: orForever(duration)(`${name}.age`, age) }),
    ...(count === undefined ? undefined : { count: orForever(countFrom(0))(`${name}.count`, count) }),
  }
}

const retention: Check<Retention> = (name, value) => {
  const { completed, failed } = objectWith(name, value, ['completed', 'failed'])
  return {
    ...(completed === undefined ? undefined : { completed: bound(`${name}.completed`, completed) }),
    ...(failed === undefined ? undefined : { failed: bound(`${name}.failed`, failed) }),
  }
}

const dependencies: Check<string[]> = (name, value) => {
  if (!Array.isArray(value)) throw refusal(name, 'an array of ids', value)
  return value.map((each: unknown, index) => validName(`${name}[${index}]`, each))
}

const dedupKey: Check<{ key: string; ttl: number | undefined }> = (name, value) => {
  const { key, ttl } = objectWith(name, value, ['key', 'ttl'])
  return { key: validName(`${name}.key`, key), ttl: ttl === undefined ? undefined : duration(`${name}.ttl`, ttl) }
}

export const JOB_DEFAULTS = {
  delay: option('ms', duration, undefined, 'time until the job may begin; not with `runAt`'),
  ttl: option('ms', positiveDuration, undefined, 'a job that has not begun after this time, a delay included, expires'),
  priority: option('number', countFrom(-1_000_000, 1_000_000), undefined, 'higher first', '0'),
  maxAttempts: option('attempts', countFrom(1, LIMITS.attempts), undefined, 'attempts in all, the first included', "the task's"),
  backoff: option('object', backoff, undefined, 'the wait between attempts', "the task's"),
  timeLimit: option('ms', milliseconds, undefined, "time until the task's worker is killed", "the task's"),
  softTimeLimit: option('ms', milliseconds, undefined, "time until the task's signal aborts", "the task's"),
  retryLost: option('times', countFrom(0), undefined, 'how often the job is run again after its worker or its node died', "the task's"),
  keep: option('object', retention, undefined, '`{ completed: { age, count }, failed: { age, count } }`: how long an ended job is kept', '1 h; failed: 7 days'),
} satisfies OptionTable<JobDefaults>

export const ADD_OPTIONS = {
  ...JOB_DEFAULTS,
  id: option('text', validName, undefined, "the job's id, unique in its queue", 'a UUID of version 7'),
  runAt: option('time', time, undefined, 'a Date, or ms since the epoch: not before', 'at once'),
  dependsOn: option('ids', dependencies, (): string[] => [], 'jobs of the queue that must succeed first', 'none'),
  onFailedDependency: option('word', choice('fail', 'run'), 'fail', "`'fail'` or `'run'`, when one of them does not succeed"),
  dedup: option('object', dedupKey, undefined, '`{ key, ttl }`: while a job with this key is unfinished, and for `ttl` ms, no other is added'),
  context: option('any', (_, value) => value, undefined, 'what `currentJob().context` returns', 'that of the job that adds it'),
} satisfies OptionTable<AddOptions>

export type AddSettings = OptionValues<typeof ADD_OPTIONS>

/** The check of a queue's `defaults`. */
export const jobDefaults: Check<JobDefaults> = (name, value) => {
  const read = readOptions(JOB_DEFAULTS, name, plainObject(name, value))
  checkLimits(read)
  return Object.fromEntries(Object.entries(read).filter(([, each]) => each !== undefined))
}

/** Options of one job, with the queue's defaults for those that are absent. Throws TypeError naming the option. */
export const readAddOptions = (what: string, defaults: JobDefaults, given: unknown): AddSettings => {
  const own = given === undefined ? {} : plainObject('options', given)
  const { runAt } = own as AddOptions
  if (runAt !== undefined && own.delay !== undefined) throw new OptionError('runAt', "and 'delay' exclude each other")
  const inherited = runAt === undefined ? defaults : { ...defaults, delay: undefined }
  const settings = readOptions(ADD_OPTIONS, what, { ...inherited, ...Object.fromEntries(Object.entries(own).filter(([, each]) => each !== undefined)) })
  checkLimits(settings)
  const { delay, ttl } = settings
  if (ttl !== undefined && delay !== undefined && ttl <= delay)
    throw refusal('ttl', `more than the delay of ${delay} ms, or the job expires before it may begin`, ttl)
  return settings
}
