/** Options of one job on its way to a queue. */

import type { Backoff } from '../../runtime/delivery.js'
import type { Compression } from '../../runtime/message/index.js'
import { count, knownNames, milliseconds, oneOf, plainObject, refuse } from '../../util/checks.js'
import { workerState } from '../../worker/state.js'
import { MAX_DELAY } from '../topology/delay-steps.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface PublishJobOptions {
  /** ms from the start until the task's signal aborts. Default the task's or the node's. */
  softTimeLimit?: number
  /** ms from the start until the worker is ended. Default the task's or the node's. */
  timeLimit?: number
  /** What `currentJob().context` shows in the task. Default: inside a task, the context of the job that runs; else none. */
  context?: unknown
  /** ms until it may begin, at most 30 days. Default none. It begins between this and the next step of the ladder in docs/farm.md. */
  delay?: number
  /** Higher first, from 0 to `priorityLevels` - 1; higher ones count as the highest. Default 0. */
  priority?: number
  /** ms after which it must not begin any more: it is dead-lettered. Counts from the call, a delay included. Default none. */
  ttl?: number
  /** Attempts altogether, the first included. Default the task's or the node's. */
  maxAttempts?: number
  /** The wait between attempts. Default the task's or the node's. */
  backoff?: Backoff
  /** Times that it may be run again after its worker died. Default the task's or the node's. */
  retryLost?: number
  correlationId?: string
  /** Default a random UUID. Nodes recognise a redelivery by it. */
  messageId?: string
  /** Compresses the body. Default not. */
  compress?: Compression
}

export interface CallOptions extends PublishJobOptions {
  /** ms to wait for the answer. Default 60,000. */
  timeout?: number
}

export const NAMES = [
  'softTimeLimit',
  'timeLimit',
  'context',
  'delay',
  'priority',
  'ttl',
  'maxAttempts',
  'backoff',
  'retryLost',
  'correlationId',
  'messageId',
  'compress',
] as const satisfies readonly (keyof PublishJobOptions)[]

const text = (name: string, value: unknown): string => {
  // AMQP's short texts.
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > 255) throw refuse(name, 'a text of 1 to 255 bytes of UTF-8', value)
  return value
}

const BACKOFF_NAMES = ['kind', 'delay', 'maxDelay', 'jitter'] as const

/** Checks a backoff. Throws TypeError naming what is wrong. */
export const readBackoffOption = (name: string, value: unknown): Backoff => {
  const given = plainObject(name, value)
  knownNames(name, given, BACKOFF_NAMES)
  const { kind, delay, maxDelay, jitter } = given
  const wait = (key: string, each: unknown): number => {
    if (typeof each !== 'number' || !(each >= 0) || each > MAX_DELAY)
      throw refuse(`${name}.${key}`, `a number of milliseconds from 0 to ${MAX_DELAY} (30 days)`, each)
    return each
  }
  if (jitter !== undefined && (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1))) throw refuse(`${name}.jitter`, 'a share from 0 to 1', jitter)
  return {
    kind: oneOf(`${name}.kind`, kind, ['fixed', 'exponential']),
    delay: wait('delay', delay),
    ...(maxDelay === undefined ? undefined : { maxDelay: wait('maxDelay', maxDelay) }),
    ...(jitter === undefined ? undefined : { jitter }),
  }
}

/** Validates the options of a publication; the context of the job that runs is inherited. Throws TypeError naming the option. */
export const readPublishOptions = (what: string, given: unknown, names: readonly string[]): PublishJobOptions => {
  const options = given === undefined ? {} : plainObject('options', given)
  knownNames(what, options, names)
  const read = <T>(name: string, check: (name: string, value: unknown) => T): T | undefined =>
    options[name] === undefined ? undefined : check(name, options[name])
  const softTimeLimit = read('softTimeLimit', milliseconds)
  const timeLimit = read('timeLimit', milliseconds)
  if (softTimeLimit !== undefined && timeLimit !== undefined && timeLimit < softTimeLimit)
    throw refuse('timeLimit', `at least the softTimeLimit of ${softTimeLimit} ms (it ends what the soft limit only asks)`, timeLimit)
  const delay = read('delay', (name, value) => {
    if (typeof value !== 'number' || !(value >= 0) || value > MAX_DELAY) throw refuse(name, `a number of milliseconds from 0 to ${MAX_DELAY} (30 days)`, value)
    return value
  })
  const ttl = read('ttl', milliseconds)
  if (ttl !== undefined && delay !== undefined && ttl <= delay)
    throw refuse('ttl', `more than the delay of ${delay} ms, or the job expires before it may begin`, ttl)
  return {
    softTimeLimit,
    timeLimit,
    context: options.context === undefined ? workerState().current()?.context : options.context,
    delay,
    priority: read('priority', (name, value) => count(name, value, 0, 255)),
    ttl,
    maxAttempts: read('maxAttempts', (name, value) => count(name, value, 1)),
    backoff: read('backoff', readBackoffOption),
    retryLost: read('retryLost', (name, value) => count(name, value, 0)),
    correlationId: read('correlationId', text),
    messageId: read('messageId', text),
    compress: read('compress', (name, value) => oneOf(name, value, ['gzip', 'br', 'zstd'])),
  }
}
