/**
 * Reports that come from outside, judged before anybody relies on their types: whoever may publish to the event exchange writes
 * them, and nodes of other versions do. Asked for is what a reader of ours uses; what is more is left as it is.
 */
import type { FarmEvent, NodeSnapshot, NodeStats } from './report.js'

type Check = (value: unknown) => boolean

/** The furthest from the epoch that a Date can be, ms. */
const MAX_TIME = 8.64e15

const text: Check = (value) => typeof value === 'string'
const figure: Check = (value) => Number.isFinite(value)
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
const table = (fields: Readonly<Record<string, Check>>): Check => {
  const entries = Object.entries(fields)
  return (value) => typeof value === 'object' && value !== null && entries.every(([name, check]) => check((value as Record<string, unknown>)[name]))
}
const all = (names: readonly string[], check: Check): Record<string, Check> => Object.fromEntries(names.map((name) => [name, check]))

const counts = table(all(['attempt', 'losses', 'requeues'], figure))

const worker = table({
  ...all(['id', 'rss', 'uptime', 'done', 'failed', 'running', 'stalled'], figure),
  pid: optional(figure),
  state: text,
  job: optional(table({ id: text, name: text, age: figure, attempt: figure })),
})

const stats = table({
  ...all(['uptime', 'prefetch', 'held', 'running', 'rss'], figure),
  state: text,
  connected: flag,
  depth: optional(figure),
  scale: table({ ...all(['min', 'max', 'wanted', 'alive'], figure), auto: flag }),
  totals: table(all(['succeeded', 'failed', 'retried', 'revoked', 'lost', 'deadLettered'], figure)),
  workers: listOf(worker),
})

const record = table({
  ...all(['id', 'name', 'queue', 'status'], text),
  counts,
  received: time,
  started: optional(time),
  ended: optional(time),
  duration: optional(figure),
  worker: optional(figure),
  error: optional(text),
  logs: listOf(table({ time, stream: text, text })),
})

const snapshot = table({ stats, tasks: listOf(record) })

const job = { id: text, name: text }
const ended = { ...job, worker: optional(figure), duration: optional(figure) }

const events: Readonly<Record<FarmEvent['type'], Check>> = {
  'node.up': table({ pid: figure, host: text, version: text, queues: listOf(text), tasks: listOf(text) }),
  'node.heartbeat': table({ stats }),
  'node.down': table({ reason: text }),
  'worker.up': table({ worker: figure, pid: figure }),
  'worker.exit': table({ worker: figure, pid: optional(figure), reason: text, expected: flag, jobs: listOf(text) }),
  'task.received': table({ ...job, queue: text, counts }),
  'task.started': table({ ...job, worker: figure, attempt: figure }),
  'task.succeeded': table(ended),
  'task.failed': table({ ...ended, error: text, dead: optional(text) }),
  'task.retried': table({ ...ended, delay: figure, counts, error: text }),
  'task.revoked': table(ended),
  'task.lost': table({ ...ended, reason: text, losses: figure }),
  'task.soft_timeout': table(ended),
  'task.hard_timeout': table(ended),
}

const anyEvent = table({ type: (value) => text(value) && Object.hasOwn(events, value as string), node: text, at: time })

/** False, too, for an event of a type that is not known here. */
export const isFarmEvent = (value: unknown): value is FarmEvent => anyEvent(value) && events[(value as FarmEvent).type](value)

export const isNodeStats = (value: unknown): value is NodeStats => stats(value)

export const isNodeSnapshot = (value: unknown): value is NodeSnapshot => snapshot(value)
