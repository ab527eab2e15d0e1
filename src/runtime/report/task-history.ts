import type { LogLine } from '../../wire/messages.js'
import { errorLine } from '../message/serialized-error.js'
import type { TaskLogLine, TaskRecord, TaskStatus } from './report.js'

/** Output lines that are kept for one job. The newest are kept. */
const MAX_LINES = 500
const MAX_LINE = 2_000

/** One job of the history. Its output is read from the pool's job until the job is over. */
export interface TaskEntry {
  readonly record: TaskRecord
  source: { readonly logs: readonly LogLine[] } | undefined
}

/** The part of an ended job that its entry shows. */
export interface EndedJob {
  readonly historyEntry: TaskEntry | undefined
  readonly worker: number | undefined
  /** ms since the epoch; 0: the job never began. */
  readonly startedAt: number
}

/** The most recent jobs of this node, for snapshots. */
export class TaskHistory {
  readonly #max: number
  readonly #entries: TaskEntry[] = []

  constructor(max: number) {
    this.#max = max
  }

  add(record: TaskRecord): TaskEntry {
    const entry: TaskEntry = { record, source: undefined }
    if (this.#max === 0) return entry
    this.#entries.push(entry)
    if (this.#entries.length > this.#max) this.#entries.shift()
    return entry
  }

  /** Removes a job that was requeued: another node reports its outcome. */
  remove(entry: TaskEntry): void {
    const at = this.#entries.lastIndexOf(entry)
    if (at !== -1) this.#entries.splice(at, 1)
  }

  /** Copies, oldest first. */
  records(): TaskRecord[] {
    return this.#entries.map(({ record, source }) => ({ ...record, logs: source === undefined ? record.logs : lastLines(source.logs) }))
  }
}

/** The job is over: its entry gets the status and the last lines of its output. */
export const endEntry = ({ historyEntry: entry, worker, startedAt }: EndedJob, status: TaskStatus, error: unknown): void => {
  if (entry === undefined) return
  const { record, source } = entry
  record.status = status
  record.ended = Date.now()
  record.duration = startedAt === 0 ? undefined : record.ended - startedAt
  record.worker = worker
  record.error = error === undefined ? undefined : errorLine(error)
  if (source !== undefined && source.logs.length > 0) record.logs = lastLines(source.logs)
  entry.source = undefined
}

const lastLines = (lines: readonly LogLine[]): TaskLogLine[] =>
  lines.slice(-MAX_LINES).map(({ time, stream, text }) => ({ time, stream, text: text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text }))
