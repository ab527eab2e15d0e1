import type { LogLine } from '../../wire/messages.js'
import type { TaskLogLine, TaskRecord } from './report.js'

/** Lines kept of one job's output, the newest. */
const MAX_LINES = 500
const MAX_LINE = 2_000

/** One remembered job; its output is read where the job keeps it, until the job is over. */
export interface TaskEntry {
  readonly record: TaskRecord
  source: { readonly logs: readonly LogLine[] } | undefined
}

/** The last jobs of this node, for snapshots. */
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

  /** It was given back: what becomes of it is not this node's to tell. */
  remove(entry: TaskEntry): void {
    const at = this.#entries.lastIndexOf(entry)
    if (at !== -1) this.#entries.splice(at, 1)
  }

  /** Copies, oldest first. */
  records(): TaskRecord[] {
    return this.#entries.map(({ record, source }) => ({ ...record, logs: source === undefined ? record.logs : lastLines(source.logs) }))
  }
}

/** The job is over: what it has written is kept, cut. */
export const closeEntry = (entry: TaskEntry): void => {
  if (entry.source === undefined) return
  if (entry.source.logs.length > 0) entry.record.logs = lastLines(entry.source.logs)
  entry.source = undefined
}

const lastLines = (lines: readonly LogLine[]): TaskLogLine[] =>
  lines.slice(-MAX_LINES).map(({ time, stream, text }) => ({ time, stream, text: text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text }))
