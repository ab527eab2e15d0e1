import { shownClock } from '../format/values.js'

/** Lines that are kept. */
const MAX_LINES = 500

export interface LogEntry {
  /** ms since the epoch. */
  readonly time: number
  /** As pino numbers them: 30 is info, 40 a warning, 50 an error. */
  readonly level: number
  readonly text: string
}

/** The log of a node while the dashboard has the terminal: its last lines. */
export class LogTail {
  readonly lines: LogEntry[] = []
  /** Also gets the lines, once the dashboard has failed. */
  forward: ((json: string) => void) | undefined
  #listener: (() => void) | undefined

  /** Adds a JSON line of pino. */
  write(json: string): void {
    this.lines.push(parse(json))
    if (this.lines.length > MAX_LINES) this.lines.splice(0, this.lines.length - MAX_LINES)
    this.#listener?.()
    this.forward?.(json)
  }

  onLine(listener: () => void): void {
    this.#listener = listener
  }
}

const parse = (json: string): LogEntry => {
  try {
    const { time, level, msg, err, ...rest } = JSON.parse(json) as Record<string, unknown>
    const details = Object.entries(rest).map(([key, value]) => `${key}=${shownDetail(key, value)}`)
    const message = (err as { message?: unknown } | undefined)?.message
    const text = [String(msg ?? ''), ...(message === undefined ? [] : [`(${String(message)})`]), ...details].join(' ')
    return { time: Number(time), level: Number(level), text }
  } catch {
    return { time: Date.now(), level: 30, text: json.trimEnd() }
  }
}

/** `at`: the time of a line that a task has printed. */
const shownDetail = (key: string, value: unknown): string => {
  if (key === 'at' && typeof value === 'number') return shownClock(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
