import { StringDecoder } from 'node:string_decoder'
import type { ReadGenerator } from '../../hub/index.js'

/** A line longer than this is cut, so that a worker that never ends its line costs a bounded amount of memory. */
const MAX_LINE = 64 * 1024

/** Cuts a stream of output into lines. */
export function* lineReader(onLine: (line: string) => void): ReadGenerator {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  try {
    for (;;) {
      const text = rest + decoder.write(yield)
      let from = 0
      for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
        onLine(text.slice(from, at))
        from = at + 1
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

const TAIL_BYTES = 4 * 1024

/** The last few kilobytes of a worker's stderr: what it said before it died. */
export class Tail {
  #bytes: Buffer = Buffer.alloc(0)

  add(chunk: Buffer): void {
    this.#bytes = chunk.length >= TAIL_BYTES ? Buffer.from(chunk.subarray(-TAIL_BYTES)) : Buffer.concat([this.#bytes, chunk]).subarray(-TAIL_BYTES)
  }

  /** Whole lines only, but for a single long one. */
  get text(): string {
    // What Node says as a process ends that was once looked into: by its watchdog, for a stack or an interruption.
    const text = this.#bytes.toString('utf8').replaceAll('Waiting for the debugger to disconnect...\n', '')
    if (this.#bytes.length < TAIL_BYTES) return text.trimEnd()
    const cut = text.indexOf('\n')
    return (cut === text.length - 1 ? text : text.slice(cut + 1)).trimEnd()
  }
}

/** Hands on what comes as it comes. */
export function* chunkReader(onChunk: (chunk: Buffer) => void): ReadGenerator {
  for (;;) onChunk(yield)
}
