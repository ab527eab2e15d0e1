/**
 * Reads the messages about a worker itself. A task can write into its worker's pipes, so a payload that does not have the shape
 * of its message is refused here, before the pool acts on it, with a ProtocolError, for which the pool kills the worker.
 */
import { backoff } from '../util/backoff.js'
import { decode } from './codec/index.js'
import { ProtocolError } from './errors.js'
import type { Fault, Hello, LogLine, StartFailed, TaskInfo, WorkerUp } from './messages.js'

type Fields = Record<string, unknown>

const refuse = (what: string): never => {
  throw new ProtocolError(`A ${what} frame whose content is not that of a ${what}.`)
}

/** Each item takes a byte at least: a longer array has holes, and a walk over four thousand million of them would hang. */
const isList = <T>(value: unknown, bytes: Buffer, isItem: (item: unknown) => item is T): value is T[] =>
  Array.isArray(value) && value.length <= bytes.length && value.every(isItem)

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

const fieldsOf = (bytes: Buffer, what: string): Fields => {
  const value = decode(bytes, 0)
  return isFields(value) ? value : refuse(what)
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isLimit = (value: unknown): boolean => value === undefined || (typeof value === 'number' && value > 0 && value <= 0xffff_ffff)

const isBackoff = (value: unknown): boolean => {
  try {
    backoff('backoff', value)
    return true
  } catch {
    return false
  }
}

const isTask = (value: unknown): value is TaskInfo =>
  isFields(value) &&
  typeof value.name === 'string' &&
  isLimit(value.timeLimit) &&
  isLimit(value.softTimeLimit) &&
  (value.retryLost === undefined || isCount(value.retryLost)) &&
  (value.maxAttempts === undefined || isCount(value.maxAttempts)) &&
  (value.backoff === undefined || isBackoff(value.backoff))

const STREAMS: readonly unknown[] = ['stdout', 'stderr', 'log']

const isLine = (value: unknown): value is LogLine =>
  isFields(value) && typeof value.time === 'number' && typeof value.text === 'string' && STREAMS.includes(value.stream)

export const readHello = (bytes: Buffer): Hello => {
  const { protocol, pid, node } = fieldsOf(bytes, 'HELLO')
  if (typeof protocol !== 'number' || typeof pid !== 'number' || typeof node !== 'string') return refuse('HELLO')
  return { protocol, pid, node }
}

export const readWorkerUp = (bytes: Buffer): WorkerUp => {
  const { pid, tasks, rss, places } = fieldsOf(bytes, 'WORKER_UP')
  if (typeof pid !== 'number' || typeof rss !== 'number' || !isList(tasks, bytes, isTask)) return refuse('WORKER_UP')
  return { pid, tasks, rss, places: places === true }
}

export const readStartFailed = (bytes: Buffer): StartFailed => {
  const { module, error } = fieldsOf(bytes, 'START_FAILED')
  if (typeof module !== 'string') return refuse('START_FAILED')
  return { module, error }
}

export const readFault = (bytes: Buffer): Fault => {
  const { type, error, delivery } = fieldsOf(bytes, 'FAULT')
  if (type !== 'unhandledRejection' && type !== 'uncaughtException') return refuse('FAULT')
  if (delivery !== undefined && !isCount(delivery)) return refuse('FAULT')
  return delivery === undefined ? { type, error } : { type, error, delivery: delivery as number }
}

export const readLoaded = (bytes: Buffer): string => {
  const url = decode(bytes, 0)
  return typeof url === 'string' ? url : refuse('LOADED')
}

export const readLogLines = (bytes: Buffer): LogLine[] => {
  const lines = decode(bytes, 0)
  return isList(lines, bytes, isLine) ? lines : refuse('LOG')
}
