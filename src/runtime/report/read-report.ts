/**
 * Checks of reports that come from outside: any client of the broker may publish to the event exchange, and so do nodes of other
 * versions. The checks cover the members that this version reads, and ignore others.
 */
import { MAX_TIME } from '../../util/limits.js'
import type { FarmEvent, NodeSnapshot, NodeStats } from './report.js'

type Check = (value: unknown) => boolean

const text: Check = (value) => typeof value === 'string'
const number: Check = (value) => Number.isFinite(value)
const flag: Check = (value) => typeof value === 'boolean'
const time: Check = (value) => typeof value === 'number' && Math.abs(value) <= MAX_TIME
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const shape = (fields: Readonly<Record<string, Check>>): Check => {
  const entries = Object.entries(fields)
  return (value) => typeof value === 'object' && value !== null && entries.every(([name, check]) => check((value as Record<string, unknown>)[name]))
}
const all = (names: readonly string[], check: Check): Record<string, Check> => Object.fromEntries(names.map((name) => [name, check]))

const counts = shape(all(['attempt', 'losses', 'requeues'], number))

const worker = shape({
  ...all(['id', 'rss', 'uptime', 'done', 'failed', 'running', 'stalled'], number),
  pid: optional(number),
  retried: optional(number),
  state: text,
  job: optional(shape({ id: text, name: text, age: number, attempt: number })),
})

const stats = shape({
  ...all(['pid', 'uptime', 'prefetch', 'held', 'running', 'rss'], number),
  ...all(['host', 'version', 'state'], text),
  queues: listOf(text),
  connected: flag,
  depth: optional(number),
  heartbeatInterval: optional(number),
  scale: shape({ ...all(['min', 'max', 'wanted', 'alive'], number), auto: flag }),
  totals: shape(all(['succeeded', 'failed', 'retried', 'revoked', 'lost', 'deadLettered'], number)),
  workers: listOf(worker),
})

const record = shape({
  ...all(['id', 'name', 'queue', 'status'], text),
  counts,
  received: time,
  started: optional(time),
  ended: optional(time),
  duration: optional(number),
  worker: optional(number),
  error: optional(text),
  stack: optional(text),
  arguments: optional(text),
  attempts: optional(listOf(shape({ attempt: number, at: time, node: text, outcome: text, error: text }))),
  logs: listOf(shape({ time, stream: text, text })),
})

const snapshot = shape({ stats, tasks: listOf(record) })

const job = { id: text, name: text }
const ended = { ...job, worker: optional(number), duration: optional(number) }

const events: Readonly<Record<FarmEvent['type'], Check>> = {
  'node.up': shape({ pid: number, host: text, version: text, queues: listOf(text), tasks: listOf(text) }),
  'node.heartbeat': shape({ stats }),
  'node.down': shape({ reason: text }),
  'worker.up': shape({ worker: number, pid: number }),
  'worker.exit': shape({ worker: number, pid: optional(number), reason: text, expected: flag, jobs: listOf(text) }),
  'task.received': shape({ ...job, queue: text, counts }),
  'task.started': shape({ ...job, worker: number, attempt: number }),
  'task.progress': shape({ ...job, worker: optional(number) }),
  'task.succeeded': shape(ended),
  'task.failed': shape({ ...ended, error: text, dead: optional(text) }),
  'task.retried': shape({ ...ended, delay: number, counts, error: text }),
  'task.revoked': shape(ended),
  'task.lost': shape({ ...ended, reason: text, losses: number }),
  'task.soft_timeout': shape(ended),
  'task.hard_timeout': shape(ended),
}

const anyEvent = shape({ type: (value) => text(value) && Object.hasOwn(events, value as string), node: text, at: time })

/** Also false for an event of an unknown type. */
export const isFarmEvent = (value: unknown): value is FarmEvent => anyEvent(value) && events[(value as FarmEvent).type](value)

export const isNodeStats = (value: unknown): value is NodeStats => stats(value)

export const isNodeSnapshot = (value: unknown): value is NodeSnapshot => snapshot(value)
