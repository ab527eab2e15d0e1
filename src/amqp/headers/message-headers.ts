/** Converts between the properties and headers of a message and the runtime's types. docs/farm-reference.md lists the headers. */
import { randomUUID } from 'node:crypto'
import type { Backoff, Counts, HistoryEntry, JobHeaders, SerializedError, Settlement } from '../../runtime/delivery.js'
import { ExpiredError, RedeliveredError } from '../../runtime/errors.js'
import { MAX_HISTORY, truncate } from '../../runtime/message/serialized-error.js'
import { hardLimitAbove, MAX_TIME } from '../../util/limits.js'
import type { AmqpMessage, AmqpProperties } from '../connection/client.js'
import { fitHeaders } from './header-size.js'

/** Characters of an error's texts: all headers must fit into one frame. */
const MAX_MESSAGE = 1_000
const MAX_STACK = 6_000

type Table = Readonly<Record<string, unknown>>

const SCHEMA_VERSION_HEADER = 'schema_version'
/** True in a job whose caller listens to its progress, and in a message that reports it. */
export const PROGRESS_HEADER = 'progress'
/** A UUID of the publisher: no other job has it, whatever its id. */
const KEY_HEADER = 'key'
/** How often the message had come back when it was published again without a run. RabbitMQ counts anew then. */
const RETURNS_HEADER = 'returns'

const finiteAtLeast = (value: unknown, least: number): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= least ? value : undefined
const wholeAtLeast = (value: unknown, least: number): number | undefined => {
  const number = finiteAtLeast(value, least)
  return number === undefined ? undefined : Math.trunc(number)
}
/** ms since the epoch, as a Date can have it: another would make whoever shows it fail. */
const timeOf = (value: unknown): number | undefined => {
  const time = finiteAtLeast(value, 0)
  return time === undefined || time > MAX_TIME ? undefined : time
}
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000)
const ms = (value: unknown): number | undefined => {
  const number = finiteAtLeast(value, 0)
  return number === undefined || number === 0 ? undefined : number * 1_000
}

const readBackoff = (value: unknown): Backoff | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const { kind, delay, max_delay: maxDelay, jitter } = value as Table
  const wait = finiteAtLeast(delay, 0)
  if ((kind !== 'fixed' && kind !== 'exponential') || wait === undefined) return undefined
  return { kind, delay: wait, maxDelay: finiteAtLeast(maxDelay, 0), jitter: finiteAtLeast(jitter, 0) }
}

const writeBackoff = (backoff: Backoff | undefined): Table | undefined =>
  backoff === undefined ? undefined : withoutUndefined({ kind: backoff.kind, delay: backoff.delay, max_delay: backoff.maxDelay, jitter: backoff.jitter })

const OUTCOMES = new Set(['failed', 'hard_timeout', 'soft_timeout', 'memory_limit', 'lost', 'unknown_task', 'requeued'])

const NO_HISTORY: readonly HistoryEntry[] = Object.freeze([])

export const readHistory = (value: unknown): readonly HistoryEntry[] => {
  if (!Array.isArray(value)) return NO_HISTORY
  return (value as unknown[]).flatMap((each) => {
    if (typeof each !== 'object' || each === null) return []
    const { attempt, at, node, outcome, error } = each as Table
    if (typeof outcome !== 'string' || !OUTCOMES.has(outcome)) return []
    return [
      {
        attempt: wholeAtLeast(attempt, 0) ?? 0,
        at: timeOf(at) ?? 0,
        node: text(node) ?? '',
        outcome: outcome as HistoryEntry['outcome'],
        error: text(error) ?? '',
      },
    ]
  })
}

const writeHistory = (history: readonly HistoryEntry[] | undefined): Table[] | undefined =>
  history === undefined || history.length === 0 ? undefined : history.slice(-MAX_HISTORY).map((entry) => ({ ...entry, error: truncate(entry.error, 500) }))

/** amqplib would send undefined values as null. */
const withoutUndefined = <T extends object>(object: T): T => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T

/** The counts of a first attempt, shared by all such messages. */
const UNTRIED: Counts = Object.freeze({ attempt: 1, losses: 0, requeues: 0 })

export const readCounts = (headers: Table | undefined): Counts => {
  const attempt = wholeAtLeast(headers?.attempt, 1) ?? 1
  const losses = wholeAtLeast(headers?.losses, 0) ?? 0
  const requeues = wholeAtLeast(headers?.requeues, 0) ?? 0
  const unknownFor = wholeAtLeast(headers?.unknown_for, 1)
  if (unknownFor !== undefined) return { attempt, losses, requeues, unknownFor }
  return attempt === 1 && losses === 0 && requeues === 0 ? UNTRIED : { attempt, losses, requeues }
}

/** How often the message had come back when it was last published. */
export const readEarlierReturns = ({ properties: { headers } }: AmqpMessage): number => wholeAtLeast(headers?.[RETURNS_HEADER], 0) ?? 0

/** How often the message has come back. A classic queue says only that it has. */
export const readReturns = (message: AmqpMessage): number => {
  const { fields, properties } = message
  return readEarlierReturns(message) + (wholeAtLeast(properties.headers?.['x-delivery-count'], 0) ?? (fields.redelivered ? 1 : 0))
}

/** To be written without what is undefined. */
const countHeaders = ({ attempt, losses, requeues, unknownFor }: Counts): Table => ({ attempt, losses, requeues, unknown_for: unknownFor })

/** Some clients write an empty id when they have none. */
export const readMessageId = ({ properties }: AmqpMessage): string | undefined => (properties.messageId === '' ? undefined : properties.messageId)

/** Undefined for a message whose publisher writes no key. */
export const readKey = ({ properties }: AmqpMessage): string | undefined => text(properties.headers?.[KEY_HEADER]) || undefined

/** The runtime's headers of a message. Headers of a wrong type count as absent. */
export const readHeaders = ({ properties }: AmqpMessage): JobHeaders => {
  const headers = properties.headers ?? {}
  const softTimeLimit = ms(headers.soft_timeout_s)
  const version = headers[SCHEMA_VERSION_HEADER]
  return {
    contentType: properties.contentType,
    contentEncoding: properties.contentEncoding,
    schemaVersion: version === undefined || version === null ? 1 : typeof version === 'number' ? version : Number.NaN,
    softTimeLimit,
    timeLimit: hardLimitAbove(softTimeLimit, ms(headers.hard_timeout_s)),
    maxAttempts: wholeAtLeast(headers.max_attempts, 1),
    backoff: readBackoff(headers.backoff),
    retryLost: wholeAtLeast(headers.retry_lost, 0),
    priority: properties.priority,
    expiresAt: finiteAtLeast(headers.expires_at, 0),
    correlationId: properties.correlationId,
    replyTo: properties.replyTo,
    history: readHistory(headers.history),
  }
}

/** Properties and headers of a job that is published for the first time. */
export const writeHeaders = (
  job: Partial<JobHeaders>,
  counts: Counts,
  history: readonly HistoryEntry[] | undefined,
  delay: number | undefined,
  key?: string,
): AmqpProperties & { headers: Table } => {
  const { softTimeLimit, timeLimit, expiresAt } = job
  const { attempt, losses, requeues } = counts
  const headers: Record<string, unknown> = { [SCHEMA_VERSION_HEADER]: job.schemaVersion ?? 1, [KEY_HEADER]: key, attempt, losses, requeues }
  if (key === undefined) delete headers[KEY_HEADER]
  const optional: Table = {
    soft_timeout_s: seconds(softTimeLimit),
    hard_timeout_s: seconds(hardLimitAbove(softTimeLimit, timeLimit)),
    max_attempts: job.maxAttempts,
    retry_lost: job.retryLost,
    backoff: writeBackoff(job.backoff),
    expires_at: expiresAt,
    delay: delay === undefined || delay <= 0 ? undefined : delay,
    history: writeHistory(history ?? job.history),
  }
  // Most jobs have none of them: no object is made for each of its entries.
  for (const name of Object.keys(optional)) if (optional[name] !== undefined) headers[name] = optional[name]
  const left = expiresAt === undefined ? undefined : Math.max(0, Math.ceil(expiresAt - Date.now()))
  return {
    contentType: job.contentType,
    contentEncoding: job.contentEncoding,
    priority: job.priority === undefined ? undefined : Math.min(255, Math.max(0, Math.trunc(job.priority))),
    correlationId: job.correlationId,
    replyTo: job.replyTo,
    // In a delay queue the property would end the delay. The node checks the header `expires_at` before it starts the job.
    expiration: left === undefined || (delay !== undefined && delay > 0) ? undefined : String(left),
    timestamp: Math.floor(Date.now() / 1_000),
    headers,
  }
}

/** Headers of the broker or of an earlier dead letter, which a message that is published again does not keep. */
const isDropped = (key: string): boolean => key.startsWith('x-') || key.startsWith('dead_')

const keptHeaders = (headers: Table | undefined): Table => Object.fromEntries(Object.entries(headers ?? {}).filter(([key]) => !isDropped(key)))

const sameProperties = (message: AmqpMessage): AmqpProperties => {
  const { contentType, contentEncoding, priority, correlationId, replyTo, messageId, timestamp, type, appId } = message.properties
  return { contentType, contentEncoding, priority, correlationId, replyTo, messageId, timestamp, type, appId }
}

/** The message for another attempt. Headers of its publisher are kept, also unknown ones. `returns`: how often it has come back. */
export const republished = (
  message: AmqpMessage,
  { delay, counts, history }: { delay: number; counts: Counts; history: readonly HistoryEntry[] },
  returns: number,
): AmqpProperties & { headers: Table } => {
  const headers: Record<string, unknown> = { ...keptHeaders(message.properties.headers), ...countHeaders(counts) }
  delete headers.delay
  headers[RETURNS_HEADER] = returns === 0 ? undefined : returns
  return {
    ...sameProperties(message),
    headers: fitHeaders(withoutUndefined({ ...headers, delay: delay > 0 ? delay : undefined, history: writeHistory(history) })),
  }
}

/** The message as a dead letter: with the reason, the error and the history. */
export const deadLettered = (
  message: AmqpMessage,
  queue: string,
  node: string,
  { reason, error, counts, history }: Extract<Settlement, { kind: 'dead-letter' }>,
): AmqpProperties & { headers: Table } => ({
  ...sameProperties(message),
  headers: fitHeaders(
    withoutUndefined({
      ...keptHeaders(message.properties.headers),
      ...countHeaders(counts),
      history: writeHistory(history),
      dead_reason: reason,
      dead_at: Date.now(),
      dead_node: node,
      dead_queue: queue,
      dead_error_name: truncate(error.name, 200),
      dead_error_message: truncate(error.message, MAX_MESSAGE),
      dead_error_code: error.code === undefined ? undefined : truncate(error.code, 200),
      dead_error_stack: error.stack === undefined ? undefined : truncate(error.stack, MAX_STACK),
    }),
  ),
})

/** Reads what `deadLettered` wrote, or `x-death`, which RabbitMQ writes when it dead-letters a message itself. */
export const readDeadLetter = (
  headers: Table | undefined,
): { reason: string; at: number | undefined; node: string | undefined; queue: string | undefined; error: SerializedError | undefined } => {
  const name = text(headers?.dead_error_name)
  if (headers?.dead_reason !== undefined)
    return {
      reason: text(headers.dead_reason) ?? 'failed',
      at: timeOf(headers.dead_at),
      node: text(headers.dead_node),
      queue: text(headers.dead_queue),
      error:
        name === undefined
          ? undefined
          : { name, message: text(headers.dead_error_message) ?? '', stack: text(headers.dead_error_stack), code: text(headers.dead_error_code) },
    }
  const [last] = Array.isArray(headers?.['x-death']) ? (headers['x-death'] as { reason?: unknown; queue?: unknown; time?: unknown }[]) : []
  const reason = last?.reason === 'expired' ? 'expired' : last?.reason === 'delivery_limit' ? 'redelivered' : (text(last?.reason) ?? 'refused')
  const time = (last?.time as { value?: unknown } | undefined)?.value
  return {
    reason,
    at: typeof time === 'number' ? timeOf(time * 1_000) : undefined,
    node: undefined,
    queue: text(last?.queue),
    error: brokerError(reason, headers),
  }
}

/** The error that a node would have given for RabbitMQ's reason. It was not thrown, so it has no stack. */
const brokerError = (reason: string, headers: Table | undefined): SerializedError | undefined => {
  const error = reason === 'expired' ? new ExpiredError(finiteAtLeast(headers?.expires_at, 0)) : reason === 'redelivered' ? new RedeliveredError() : undefined
  return error === undefined ? undefined : { name: error.name, message: error.message, stack: undefined, code: error.code }
}

/** Properties and headers of a dead letter that is published to its queue again: a new job under the same id, with all its attempts. */
export const retriedDeadLetter = (message: AmqpMessage): AmqpProperties & { headers: Table } => {
  const headers: Record<string, unknown> = { ...keptHeaders(message.properties.headers) }
  // The expiry may have passed, and the delay has. The retry begins without them.
  delete headers.expires_at
  delete headers.delay
  delete headers[RETURNS_HEADER]
  return { ...sameProperties(message), headers: fitHeaders(withoutUndefined({ ...headers, [KEY_HEADER]: randomUUID(), ...countHeaders(UNTRIED) })) }
}
