import type { Hub, HubReadable, Reader } from '../../hub/index.js'
import type { LogLine } from '../../wire/messages.js'
import { printToHost } from './host-stderr.js'
import { chunkReader, lineReader, Tail } from './output-lines.js'

/** What becomes of a worker's stdout and stderr. */
export type OutputMode = 'lines' | 'forward' | 'drop'

/** A worker's stdout and stderr, as far as they pass through the host: always read, whatever becomes of them. */
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
        mode === 'lines'
          ? lineReader((text) => onLine({ time: Date.now(), stream: name, text }))
          : chunkReader((chunk) => {
              this.tail.add(chunk)
              if (mode === 'forward') printToHost(chunk)
            })
      return [hub.addReader(stream, generator, onEnd)]
    }
    this.readers = [...read(streams.stderr, 'stderr'), ...read(streams.stdout, 'stdout')]
  }

  get ended(): boolean {
    return this.readers.every((reader) => reader.ended)
  }

  /** Lines that came as LOG frames count as its last words, too. */
  add(lines: readonly LogLine[]): void {
    for (const { stream, text } of lines) if (stream === 'stderr') this.tail.add(Buffer.from(`${text}\n`))
  }

  /** What has come so far was all. */
  finish(): void {
    for (const reader of this.readers) reader.finish()
  }
}
