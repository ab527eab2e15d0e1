import { StringDecoder } from 'node:string_decoder'
import type { LogLine } from '../../wire/messages.js'

/** Bytes of output that one job may send, LINE_COST for each line included. */
export const LOG_BOUND = 256 * 1024
/** Counted for each line beside its text: in the host a line is an object, however short it is. */
export const LINE_COST = 64
export const LOG_MARKER = `[prefork] more output of this job was dropped: it is over ${LOG_BOUND / 1024} KiB`

type Stream = LogLine['stream']

/** Cuts output into lines and bounds it. An unfinished line waits for its newline, or for the end of the job. */
export class JobLog {
  readonly #send: (lines: LogLine[]) => void
  readonly #wall: () => number
  readonly #bound: number
  #used = 0
  #partial: { stdout?: string; stderr?: string } = {}

  constructor(wall: () => number, send: (lines: LogLine[]) => void, bound = LOG_BOUND) {
    this.#wall = wall
    this.#send = send
    this.#bound = bound
  }

  /** One entry, with all newlines in it. */
  entry(stream: Stream, text: string): void {
    this.#emit(stream, [text])
  }

  /** A piece of a byte stream. */
  write(stream: 'stdout' | 'stderr', text: string): void {
    const end = text.lastIndexOf('\n')
    if (end === -1) {
      if (this.#used !== Number.POSITIVE_INFINITY) this.#partial[stream] = (this.#partial[stream] ?? '') + text
      if ((this.#partial[stream]?.length ?? 0) > this.#bound) this.#endPartial(stream)
      return
    }
    const lines = ((this.#partial[stream] ?? '') + text.slice(0, end)).split('\n')
    this.#partial[stream] = end + 1 < text.length ? text.slice(end + 1) : undefined
    this.#emit(stream, lines)
  }

  /** The job (or the process) ends: an unfinished line is sent as it is. */
  flush(): void {
    this.#endPartial('stdout')
    this.#endPartial('stderr')
  }

  #endPartial(stream: 'stdout' | 'stderr'): void {
    const text = this.#partial[stream]
    if (text === undefined) return
    this.#partial[stream] = undefined
    this.#emit(stream, [text])
  }

  #emit(stream: Stream, texts: readonly string[]): void {
    if (this.#used === Number.POSITIVE_INFINITY) return
    const time = this.#wall()
    const lines: LogLine[] = []
    for (const text of texts) {
      const left = this.#bound - this.#used
      const size = Buffer.byteLength(text)
      this.#used += size + LINE_COST
      if (size > left) {
        if (left > 0) lines.push({ time, stream, text: firstBytes(text, left) })
        lines.push({ time, stream, text: LOG_MARKER })
        this.#used = Number.POSITIVE_INFINITY
        break
      }
      lines.push({ time, stream, text })
    }
    this.#send(lines)
  }
}

const firstBytes = (text: string, bytes: number): string => new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes))
