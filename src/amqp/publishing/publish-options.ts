import type { Backoff } from '../../runtime/delivery.js'
import type { Compression } from '../../runtime/message/compression.js'
import { backoffOf } from '../../util/backoff.js'
import { type Check, checkLimits, choice, countFrom, milliseconds, plainObject, refusal, refuseUnknownNames } from '../../util/checks.js'
import { LIMITS } from '../../util/limits.js'
import { namesOf, type OptionTable, option } from '../../util/option-table.js'
import { workerState } from '../../worker/state.js'
import { MAX_DELAY } from '../topology/delay-steps.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface PublishJobOptions {
  /** ms from the start until the task's signal aborts. Default the task's or the node's. */
  softTimeLimit?: number
  /** ms from the start until the task's worker is killed. Default the task's or the node's. */
  timeLimit?: number
  /** What `currentJob().context` returns in the task. Default: inside a task, the context of the running job; else none. */
  context?: unknown
  /** ms until the job may begin, at most 30 days. It begins between this time and the next step of the delay queues (docs/farm.md). Default none. */
  delay?: number
  /** Higher first, from 0 to `priorityLevels` - 1; a higher priority counts as the highest level. Default 0. */
  priority?: number
  /** ms from the call, a delay included: a job that has not begun by then becomes a dead letter. Must be above `delay`. Default none. */
  ttl?: number
  /** Attempts in all, the first included. Default the task's or the node's. */
  maxAttempts?: number
  /** The wait between attempts. Default the task's or the node's. */
  backoff?: Backoff
  /** How often the job is run again after its worker died. Default the task's or the node's. */
  retryLost?: number
  /** Sent with the job: 1 to 255 bytes of UTF-8. Default none. */
  correlationId?: string
  /** The job's id: 1 to 255 bytes of UTF-8. It may be used again. Default a random UUID. */
  messageId?: string
  /** Compresses the body. Default none. */
  compress?: Compression
}

export interface CallOptions extends PublishJobOptions {
  /** ms that `call` waits for the result. Default 60,000. */
  timeout?: number
  /**
   * Called with what the task reports as its progress, in order. Where it reports faster than RabbitMQ takes it, values in between are
   * left out. An error that it throws is an uncaught exception. Default none.
   */
  onProgress?: (value: unknown) => void
}

/** A time in a delay queue, ms. */
const delay: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0) || value > MAX_DELAY) throw refusal(name, `a number of milliseconds from 0 to ${MAX_DELAY} (30 days)`, value)
  return value
}

/** AMQP's short strings. */
export const shortText: Check<string> = (name, value) => {
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > 255) throw refusal(name, 'a text of 1 to 255 bytes of UTF-8', value)
  return value
}

export const PUBLISH_OPTIONS = {
  softTimeLimit: option('ms', milliseconds, undefined, "time until the task's signal aborts", "the task's"),
  timeLimit: option('ms', milliseconds, undefined, "time until the task's worker is killed", "the task's"),
  context: option(
    'any',
    (_, value) => value,
    undefined,
    'what `currentJob().context` returns; the default is the context of the job that publishes, if any',
    'that of the job',
  ),
  delay: option('ms', delay, undefined, 'time until the job may begin, at most 30 days'),
  priority: option('level', countFrom(0, 255), undefined, 'higher first', '0'),
  ttl: option('ms', milliseconds, undefined, 'a job that has not begun after this time becomes a dead letter; must be above `delay` (`TypeError`)'),
  maxAttempts: option('attempts', countFrom(1, LIMITS.attempts), undefined, 'attempts in all, the first included', "the task's"),
  backoff: option('object', backoffOf(delay, delay), undefined, 'the wait between attempts', "the task's"),
  retryLost: option('times', countFrom(0), undefined, 'how often the job is run again after its worker died', "the task's"),
  correlationId: option('text', shortText, undefined, 'sent with the job; not with `publishMany`'),
  messageId: option('text', shortText, undefined, "the job's id; it may be used again; not with `publishMany`", 'a random UUID'),
  compress: option('kind', choice<Compression>('gzip', 'br', 'zstd'), undefined, "`'gzip'`, `'br'` or `'zstd'`"),
} satisfies OptionTable<PublishJobOptions>

const progressListener: Check<(value: unknown) => void> = (name, value) => {
  if (typeof value !== 'function') throw refusal(name, 'a function that gets each value', value)
  return value as (value: unknown) => void
}

export const CALL_OPTIONS = {
  ...PUBLISH_OPTIONS,
  timeout: option('ms', milliseconds, 60_000, 'how long `call` waits for the result; only with `call`'),
  onProgress: option('function', progressListener, undefined, 'gets what the task reports as its progress; only with `call`'),
} satisfies OptionTable<CallOptions>

export const NAMES = namesOf(PUBLISH_OPTIONS)

/** Validates the options of a publication; the context of the job that runs is inherited. Throws TypeError naming the option. */
export const readPublishOptions = (what: string, given: unknown, names: readonly string[]): PublishJobOptions => {
  const options = given === undefined ? {} : plainObject('options', given)
  refuseUnknownNames(what, options, names)
  const read = <V>(name: string, { check }: { readonly check: Check<V> }): V | undefined =>
    options[name] === undefined ? undefined : check(name, options[name])
  const o = PUBLISH_OPTIONS
  const softTimeLimit = read('softTimeLimit', o.softTimeLimit)
  const timeLimit = read('timeLimit', o.timeLimit)
  checkLimits({ softTimeLimit, timeLimit })
  const delay = read('delay', o.delay)
  const ttl = read('ttl', o.ttl)
  if (ttl !== undefined && delay !== undefined && ttl <= delay)
    throw refusal('ttl', `more than the delay of ${delay} ms, or the job expires before it may begin`, ttl)
  return {
    softTimeLimit,
    timeLimit,
    context: options.context === undefined ? workerState().current()?.context : options.context,
    delay,
    priority: read('priority', o.priority),
    ttl,
    maxAttempts: read('maxAttempts', o.maxAttempts),
    backoff: read('backoff', o.backoff),
    retryLost: read('retryLost', o.retryLost),
    correlationId: read('correlationId', o.correlationId),
    messageId: read('messageId', o.messageId),
    compress: read('compress', o.compress),
  }
}
