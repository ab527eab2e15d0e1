import { StringDecoder } from 'node:string_decoder'
import type { ReadGenerator } from '../hub/index.js'

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
  #text = ''

  add(chunk: string): void {
    this.#text = (this.#text + chunk).slice(-TAIL_BYTES)
  }

  /** Whole lines only, but for a single long one. */
  get text(): string {
    const text = this.#text.trimEnd()
    if (this.#text.length < TAIL_BYTES) return text
    return text.slice(text.indexOf('\n') + 1)
  }
}
