import { randomUUID } from 'node:crypto'
import { type Check, count, countFrom, OptionError, plainObject, refusal, refuseUnknownNames } from '../../util/checks.js'
import { namesOf, type OptionTable, option, optionValue } from '../../util/option-table.js'
import { queueName } from '../worker/queue-order.js'
import { exactJson } from './job-json.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface PublishJobOptions {
  /** The queue. Default the publisher's. */
  queue?: string
  /** ms until the job may begin. The server looks for due jobs every 5 s. Default none. */
  delay?: number
  /** The time from which the job may begin: a Date, or ms since the epoch. Not with `delay`. A past time is now. Default none. */
  at?: Date | number
  /** Retries after a failure. 0: a job that fails is forgotten. -1: it goes to the dead set at once. Default 25. It is always sent: a server takes the last one that was sent for the default of everybody. */
  retry?: number
  /** ms that a worker has for the job, from 60,000 to 86,400,000, rounded up to seconds: 61,500 is 62 s. Then the server gives it to another. Default the server's 1,800,000. */
  reserveFor?: number
  /** Lines of an error's stack that the worker reports, at most 50, which the server keeps; a node of prefork reports 30 at most. Default 0. */
  backtrace?: number
  /**
   * The context of the job: what `currentJob().context` returns in the task. The switches of Faktory Enterprise stand here too (`unique_for`,
   * `unique_until`, `expires_at`, `track`, `bid`). Default none: that of a job that publishes is not inherited, as it may hold such switches.
   */
  custom?: Readonly<Record<string, unknown>>
  /** The job's id: at least 8 characters. Default a random UUID. */
  jid?: string
}

/** As the protocol has it: 25 retries take about 21 days. */
const DEFAULT_RETRY = 25
const MINUTE = 60_000
const DAY = 86_400_000
/** RFC 3339, which the server reads, has years of four digits. */
const END_OF_TIME = Date.UTC(10_000, 0)

const delayOf: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0) || Date.now() + value >= END_OF_TIME) throw refusal(name, 'a number of milliseconds, 0 or more', value)
  return value
}

/** ms since the epoch: March 1973. A number below it is most likely one of seconds: as these it is in the years up to 5138. */
const EARLIEST = 100_000_000_000

const timeOf: Check<number> = (name, value) => {
  const time = value instanceof Date ? value.getTime() : value
  if (typeof value === 'number' && value > 0 && value < EARLIEST)
    throw refusal(name, `a Date, or a number of milliseconds since the epoch: this one is in ${new Date(value).getUTCFullYear()}. Is it in seconds?`, value)
  if (typeof time !== 'number' || !(time >= 0) || time >= END_OF_TIME) throw refusal(name, 'a Date, or a number of milliseconds since the epoch', value)
  return time
}

const reserveFor: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !(value >= MINUTE) || value > DAY)
    throw refusal(name, `a number of milliseconds from ${MINUTE} (Faktory takes a shorter time for one minute) to ${DAY} (one day)`, value)
  return value
}

const custom: Check<Readonly<Record<string, unknown>>> = (name, value) => {
  const given = plainObject(name, value)
  const reserved = Object.keys(given).find((key) => key.startsWith('_'))
  if (reserved !== undefined) throw new OptionError(`${name}.${reserved}`, "must have another name: those that begin with '_' are the server's")
  return given
}

const jid: Check<string> = (name, value) => {
  if (typeof value !== 'string' || value.length < 8) throw refusal(name, 'a text of at least 8 characters', value)
  return value
}

export const PUBLISH_OPTIONS = {
  queue: option('name', queueName, undefined, 'the queue that the job goes to', "the publisher's"),
  delay: option('ms', delayOf, undefined, 'time until the job may begin; the server looks for due jobs every 5 s'),
  at: option('Date, ms', timeOf, undefined, 'the time from which the job may begin; not with `delay`'),
  retry: option('times', countFrom(-1, 2_147_483_647), DEFAULT_RETRY, 'retries after a failure; 0: a job that fails is forgotten; -1: dead at once'),
  reserveFor: option('ms', reserveFor, undefined, 'what a worker has for the job, from 60,000 to 86,400,000, rounded up to seconds', "the server's 1,800,000"),
  backtrace: option(
    'lines',
    (name, value) => count(name, value, 0, 50),
    undefined,
    "lines of an error's stack that the worker reports; a node of prefork 30 at most",
    '0',
  ),
  custom: option('object', custom, undefined, 'the context of the job, and the switches of Faktory Enterprise'),
  jid: option('text', jid, undefined, "the job's id, of at least 8 characters; not with `publishMany`", 'a random UUID'),
} satisfies OptionTable<PublishJobOptions>

export const NAMES = namesOf(PUBLISH_OPTIONS)

/** Options of other brokers that have no effect here, and what does instead. */
const NOT_HERE: Readonly<Record<string, string>> = {
  priority:
    "has no effect: Faktory has no priorities since 0.9.6. Use a queue of its own for urgent jobs, and let workers fetch it first (queues: ['urgent', 'default'])",
  messageId: "is called 'jid' under Faktory",
  context: "is called 'custom' under Faktory",
  ttl: "has no effect: Faktory Enterprise alone lets jobs expire, by `expires_in` (seconds) or `expires_at` in 'custom'",
  softTimeLimit: 'is set by the task (defineTask) or by the node: a job under Faktory has `reserveFor` alone',
  timeLimit: 'is set by the task (defineTask) or by the node: a job under Faktory has `reserveFor` alone',
  runAt: "is called 'at' under Faktory",
  maxAttempts: "is called 'retry' under Faktory, which counts what follows the first attempt",
}

/** The options of a publication, checked; defaults filled in. Throws TypeError naming the option. */
export const readPublishOptions = (what: string, given: unknown, names: readonly string[]) => {
  const options = given === undefined ? {} : plainObject('options', given)
  for (const [name, reason] of Object.entries(NOT_HERE)) if (options[name] !== undefined) throw new OptionError(name, reason)
  refuseUnknownNames(what, options, names)
  const o = PUBLISH_OPTIONS
  const at = optionValue('at', o.at, options.at)
  const delay = optionValue('delay', o.delay, options.delay)
  if (at !== undefined && delay !== undefined) throw new OptionError('at', "excludes 'delay': name one of them")
  return {
    queue: optionValue('queue', o.queue, options.queue),
    delay,
    at,
    retry: optionValue('retry', o.retry, options.retry),
    reserveFor: optionValue('reserveFor', o.reserveFor, options.reserveFor),
    backtrace: optionValue('backtrace', o.backtrace, options.backtrace),
    custom: optionValue('custom', o.custom, options.custom),
    jid: optionValue('jid', o.jid, options.jid),
  }
}

export type PublishSettings = ReturnType<typeof readPublishOptions>

/** A job on its way to the server. */
export interface PreparedJob {
  readonly jid: string
  readonly json: string
}

/**
 * The job as the server reads it. Written in this turn: later changes to the arguments have no effect.
 *
 * @throws {SerializationError} an argument, or a part of `custom`, would arrive as something else
 */
export const prepareJob = (task: string, args: readonly unknown[], settings: PublishSettings, defaultQueue: string): PreparedJob => {
  const { queue = defaultQueue, delay, at, retry, reserveFor, backtrace, custom, jid = randomUUID() } = settings
  const begins = delay !== undefined && delay > 0 ? Date.now() + delay : at
  const json =
    `{"jid":${exactJson('jid', jid)},"jobtype":${exactJson('name', task)},"queue":"${queue}","args":${exactJson('args', args)},"retry":${retry}` +
    `${begins === undefined ? '' : `,"at":"${new Date(begins).toISOString()}"`}` +
    `${reserveFor === undefined ? '' : `,"reserve_for":${Math.ceil(reserveFor / 1_000)}`}${backtrace === undefined ? '' : `,"backtrace":${backtrace}`}` +
    `${custom === undefined ? '' : `,"custom":${exactJson('custom', custom)}`}}`
  return { jid, json }
}
