import { StringDecoder } from 'node:string_decoder'
import type { Hub, HubReadable, Reader, ReadGenerator } from '../../hub/index.js'
import { setImmediate } from '../../util/node-time.js'
import type { LogLine } from '../../wire/messages.js'

/** How a worker's stdout and stderr are handled, as far as they pass through the host: cut into lines, passed on, or dropped. */
export type OutputMode = 'capture' | 'inherit' | 'ignore'

/** A longer line is cut, so that a worker that never ends its line costs a bounded amount of memory. */
const MAX_LINE = 64 * 1024

/** Cuts a stream of output into lines. Yields true after a line where `isOver` says so. */
export function* lineReader(onLine: (line: string) => void, isOver: () => boolean): ReadGenerator {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  try {
    for (;;) {
      const text = rest + decoder.write(yield)
      let from = 0
      for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
        onLine(text.slice(from, at))
        from = at + 1
        if (isOver()) yield true
      }
      rest = text.slice(from)
      if (rest.length > MAX_LINE) {
        onLine(rest)
        rest = ''
      }
    }
  } finally {
    rest += decoder.end()
    if (rest !== '') onLine(rest)
  }
}

function* chunkReader(onChunk: (chunk: Buffer) => void): ReadGenerator {
  for (;;) onChunk(yield)
}

/** Node prints this at the end of a process whose inspector was used: by the watchdog, for a stack or an interruption. */
const DEBUGGER_LINE = 'Waiting for the debugger to disconnect...\n'

const withoutDebuggerLine = (chunk: Buffer): Buffer => {
  const at = chunk.indexOf(DEBUGGER_LINE)
  return at === -1 ? chunk : Buffer.concat([chunk.subarray(0, at), chunk.subarray(at + DEBUGGER_LINE.length)])
}

const TAIL_BYTES = 4 * 1024

/** The last few kilobytes of a worker's stderr: what it printed before it died. */
export class Tail {
  #bytes: Buffer = Buffer.alloc(0)

  add(chunk: Buffer): void {
    this.#bytes = chunk.length >= TAIL_BYTES ? Buffer.from(chunk.subarray(-TAIL_BYTES)) : Buffer.concat([this.#bytes, chunk]).subarray(-TAIL_BYTES)
  }

  /** Whole lines only, but for a single long one. */
  get text(): string {
    const text = this.#bytes.toString('utf8').replaceAll(DEBUGGER_LINE, '')
    if (this.#bytes.length < TAIL_BYTES) return text.trimEnd()
    const cut = text.indexOf('\n')
    return (cut === text.length - 1 ? text : text.slice(cut + 1)).trimEnd()
  }
}

/** Writes to `process.stderr` that it has not yet called back. */
let pendingWrites = 0

const ignoreError = (): void => {}

/**
 * Prints the output of workers on the host's stderr. The reader of stderr may be gone (a closed pager, a restarted log collector). That must not end a
 * host that prints nothing itself, as an 'error' event without a listener would.
 */
const printToHost = (chunk: Buffer): void => {
  if (chunk.length === 0) return
  const { stderr } = process
  if (pendingWrites++ === 0) stderr.on('error', ignoreError)
  stderr.write(chunk, () => {
    // The event comes after the callback.
    setImmediate(() => {
      if (--pendingWrites === 0) stderr.off('error', ignoreError)
    })
  })
}

/** The stdout and stderr of a worker, as far as they pass through the host: always read, whatever becomes of them. */
export class WorkerOutput {
  readonly tail = new Tail()
  readonly readers: readonly Reader[]

  constructor(
    hub: Hub,
    streams: { stdout: HubReadable | undefined; stderr: HubReadable | undefined },
    mode: OutputMode,
    onLine: (line: LogLine) => void,
    onEnd: () => void,
  ) {
    const read = (stream: HubReadable | undefined, name: 'stdout' | 'stderr'): Reader[] => {
      if (stream === undefined) return []
      const generator =
        mode === 'capture'
          ? lineReader((text) => onLine({ time: Date.now(), stream: name, text }), hub.isTurnOver)
          : chunkReader((chunk) => {
              this.tail.add(chunk)
              if (mode === 'inherit') printToHost(withoutDebuggerLine(chunk))
            })
      return [hub.addReader(stream, generator, onEnd)]
    }
    this.readers = [...read(streams.stderr, 'stderr'), ...read(streams.stdout, 'stdout')]
  }

  get ended(): boolean {
    return this.readers.every((reader) => reader.ended)
  }

  /** Lines that came as LOG frames are part of the tail, too. */
  add(lines: readonly LogLine[]): void {
    for (const { stream, text } of lines) if (stream === 'stderr') this.tail.add(Buffer.from(`${text}\n`))
  }

  /** Nothing more is read: what has come so far was all. */
  finish(): void {
    for (const reader of this.readers) reader.finish()
  }
}
