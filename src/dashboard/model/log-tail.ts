const KEPT = 500

export interface LogLine {
  /** ms since the epoch. */
  readonly time: number
  /** As pino numbers them: 30 is info, 40 a warning, 50 an error. */
  readonly level: number
  readonly text: string
}

/** Where the log of a node goes while the dashboard has the terminal: its last lines are kept. */
export class LogTail {
  readonly lines: LogLine[] = []
  /** Where the lines go when there is no dashboard to show them any more. */
  forward: ((json: string) => void) | undefined
  private listener: (() => void) | undefined

  /** Takes a JSON line as pino writes it. */
  write(json: string): void {
    this.lines.push(read(json))
    if (this.lines.length > KEPT) this.lines.splice(0, this.lines.length - KEPT)
    this.listener?.()
    this.forward?.(json)
  }

  onLine(listener: () => void): void {
    this.listener = listener
  }
}

const read = (json: string): LogLine => {
  try {
    const { time, level, msg, err, ...rest } = JSON.parse(json) as Record<string, unknown>
    const details = Object.entries(rest).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    const message = (err as { message?: unknown } | undefined)?.message
    const text = [String(msg ?? ''), ...(message === undefined ? [] : [`(${String(message)})`]), ...details].join(' ')
    return { time: Number(time), level: Number(level), text }
  } catch {
    return { time: Date.now(), level: 30, text: json.trimEnd() }
  }
}
