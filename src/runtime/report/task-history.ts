import { textWithoutPasswords } from '../../util/redact.js'
import type { LogLine } from '../../wire/messages.js'
import type { Delivery, HistoryEntry } from '../delivery.js'
import type { JobMessage } from '../message/job.js'
import { errorLine, serializeError, truncate, withHistory } from '../message/serialized-error.js'
import type { TaskLogLine, TaskRecord, TaskStatus } from './report.js'
import { shownArguments } from './shown-arguments.js'

/** Output lines that are kept for one job. The newest are kept. */
const MAX_LINES = 500
const MAX_LINE = 2_000
const MAX_STACK = 8_000

/** One job of the history. Its output is read from the pool's job until the job is over. */
export interface TaskEntry {
  readonly record: TaskRecord
  source: { readonly logs: readonly LogLine[] } | undefined
  /** Its arguments are written as text when somebody asks: hardly a job is looked at. Undefined: they are not shown, or are text already. */
  message: JobMessage | undefined
}

/** The part of a job that its entry shows. */
export interface EndedJob {
  readonly historyEntry: TaskEntry | undefined
  readonly worker: number | undefined
  /** ms since the epoch; 0: the job never began. */
  readonly startedAt: number
  readonly headers: { readonly history: readonly HistoryEntry[] }
  readonly newHistory: readonly HistoryEntry[]
}

/** The most recent jobs of this node, for snapshots. */
export class TaskHistory {
  readonly #max: number
  readonly #showArguments: boolean
  /** From `#first` on; empty before it. To remove the first place of an array would move all others. */
  #entries: (TaskEntry | undefined)[] = []
  #first = 0

  constructor(max: number, showArguments: boolean) {
    this.#max = max
    this.#showArguments = showArguments
  }

  add(record: TaskRecord, message: JobMessage): TaskEntry {
    const entry: TaskEntry = { record, source: undefined, message: undefined }
    if (this.#max === 0) return entry
    if (this.#showArguments) entry.message = message
    this.#entries.push(entry)
    if (this.#entries.length - this.#first > this.#max) this.#forget()
    return entry
  }

  /** The oldest goes, but one that runs stays as long as there is another: an operator looks for the job that does not end. */
  #forget(): void {
    const entries = this.#entries
    const last = entries.length - 1
    let at = this.#first
    while (at < last && entries[at]?.record.status === 'running') at++
    if (at === last) at = this.#first
    // Nobody will see it: its arguments need not be kept.
    entries[at]!.message = undefined
    // Those before it move up by one place.
    entries.copyWithin(this.#first + 1, this.#first, at)
    entries[this.#first++] = undefined
    if (this.#first > this.#max) {
      this.#entries = entries.slice(this.#first)
      this.#first = 0
    }
  }

  /** Removes a job that was requeued: another node reports its outcome. */
  remove(entry: TaskEntry): void {
    const at = this.#entries.lastIndexOf(entry)
    if (at >= this.#first) this.#entries.splice(at, 1)
  }

  /** Copies, oldest first. `id`: only jobs with this id. */
  records(id?: string): TaskRecord[] {
    const all = this.#entries.slice(this.#first) as TaskEntry[]
    const entries = id === undefined ? all : all.filter(({ record }) => record.id === id)
    return entries.map(({ record, source, message }) => ({
      ...record,
      arguments: message === undefined ? record.arguments : shownArguments(message),
      logs: source === undefined ? record.logs : lastLines(source.logs),
    }))
  }
}

/** The job is over: its entry gets the status, the error and the last lines of its output. */
export const endEntry = ({ historyEntry: entry, worker, startedAt, headers, newHistory }: EndedJob, status: TaskStatus, error: unknown): void => {
  if (entry === undefined) return
  const { record, source, message } = entry
  record.status = status
  record.ended = Date.now()
  record.duration = startedAt === 0 ? undefined : record.ended - startedAt
  record.worker = worker
  if (error !== undefined) {
    record.error = errorLine(error)
    if (status !== 'revoked') record.stack = stackOf(error)
  }
  if (newHistory.length > 0) record.attempts = withHistory(headers.history, ...newHistory)
  if (source !== undefined && source.logs.length > 0) record.logs = lastLines(source.logs)
  entry.source = undefined
  // Large arguments of an ended job are not kept for those who may look.
  if (message !== undefined && !isSmall(message)) {
    record.arguments = shownArguments(message)
    entry.message = undefined
  }
}

/** Where a limit ended the job, the error has the place at which the task stood. */
const stackOf = (error: unknown): string | undefined => {
  const { stack, name, message } = serializeError(error)
  const taskStack = (error as { taskStack?: unknown } | null)?.taskStack
  const text = typeof taskStack === 'string' && taskStack !== '' ? truncate(`${name}: ${message}\n${taskStack}`, MAX_STACK) : stack
  return text === undefined ? undefined : textWithoutPasswords(text)
}

/** Of the arguments of one ended job, those in arrays and objects included. */
const MAX_KEPT_VALUES = 24
const MAX_KEPT_TEXT = 200

const isSmall = ({ args, kwargs, context }: JobMessage): boolean => kwargs === undefined && context === undefined && smallValues(args, MAX_KEPT_VALUES) >= 0

/** How many values may follow; negative: these are too many, too long, or hold more than one sees. A binary holds all that its message came with. */
const smallValues = (value: unknown, left: number): number => {
  if (typeof value === 'string') return value.length <= MAX_KEPT_TEXT ? left - 1 : -1
  if (typeof value !== 'object' || value === null) return left - 1
  let rest = left - 1
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && rest >= 0; i++) rest = smallValues(value[i], rest)
    return rest
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return -1
  for (const name in value) {
    if (rest < 0 || name.length > MAX_KEPT_TEXT) return -1
    rest = smallValues((value as Record<string, unknown>)[name], rest)
  }
  return rest
}

const lastLines = (lines: readonly LogLine[]): TaskLogLine[] =>
  lines.slice(-MAX_LINES).map(({ time, stream, text }) => ({ time, stream, text: text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text }))

/** The entry of a job that has just been delivered. */
export const newRecord = (id: string, name: string, { queue, counts, headers }: Pick<Delivery, 'queue' | 'counts' | 'headers'>): TaskRecord => ({
  id,
  name,
  queue,
  status: 'pending',
  counts,
  received: Date.now(),
  started: undefined,
  ended: undefined,
  duration: undefined,
  worker: undefined,
  error: undefined,
  stack: undefined,
  attempts: headers.history.length === 0 ? undefined : headers.history,
  arguments: undefined,
  logs: [],
})
