/**
 * Reads the answers of a server (https://github.com/contribsys/faktory/blob/main/docs/protocol-specification.md): RESP, of which Faktory uses
 * `+text`, `-CODE text`, `$length`, `$-1` and, in its source only, `:integer`.
 */

/** An answer `-CODE text`. */
export interface ErrorReply {
  readonly code: string
  readonly text: string
}

/** An answer: a text, null (`$-1`), or an error. */
export type Reply = string | null | ErrorReply

export const isErrorReply = (reply: Reply): reply is ErrorReply => typeof reply === 'object' && reply !== null

/** Bytes of one line. The server repeats a refused payload in its error. */
const MAX_LINE = 1_048_576
/** Bytes of one bulk string, by default. */
const MAX_BULK = 256 * 1_048_576
/** Characters of what cannot be read that a message shows. */
const MAX_SHOWN = 40

const LF = 10
const CR = 13

/** The bytes are no answer of Faktory, or one beyond the limits. Nothing that follows them can be read. */
export class ReplySyntaxError extends Error {}

/**
 * Cuts a stream of bytes into answers. Lengths are in bytes, so the answers are found before any text is decoded. A length that is announced
 * reserves no memory; a body is copied once, when it is complete.
 */
export class ReplyParser {
  readonly #maxBulk: number
  /** The parts of a line or a body that is not complete. */
  #parts: Buffer[] = []
  #size = 0
  /** Bytes of the body and its line end; undefined while a line is read. */
  #expected: number | undefined
  #failure: ReplySyntaxError | undefined

  /** `maxBulk`: bytes of a bulk string, at most. Default 256 MiB. */
  constructor(maxBulk = MAX_BULK) {
    this.#maxBulk = maxBulk
  }

  /**
   * Calls `receive` with each answer that `chunk` completes, in order.
   *
   * @throws {ReplySyntaxError} what follows is no answer; then and at each later call
   */
  push(chunk: Buffer, receive: (reply: Reply) => void): void {
    if (this.#failure !== undefined) throw this.#failure
    let at = 0
    while (at < chunk.length) {
      const taken: number = this.#expected === undefined ? this.#readLine(chunk, at, receive) : this.#readBody(chunk, at, this.#expected, receive)
      at += taken
    }
  }

  #readLine(chunk: Buffer, from: number, receive: (reply: Reply) => void): number {
    const end = chunk.indexOf(LF, from)
    const until = end === -1 ? chunk.length : end + 1
    // Judged at its first byte: what is no answer may never have a line end.
    if (this.#size === 0) this.#checkKind(chunk, from)
    if (this.#size + until - from > MAX_LINE) throw this.#fail(`a line of more than ${MAX_LINE} bytes`)
    if (end === -1) this.#keep(chunk, from, until)
    else if (this.#size === 0) this.#line(chunk, from, until, receive)
    else {
      this.#keep(chunk, from, until)
      const line = this.#take()
      this.#line(line, 0, line.length, receive)
    }
    return until - from
  }

  #readBody(chunk: Buffer, from: number, expected: number, receive: (reply: Reply) => void): number {
    const until = Math.min(chunk.length, from + expected - this.#size)
    if (this.#size + until - from < expected) this.#keep(chunk, from, until)
    else if (this.#size === 0) this.#body(chunk, from, until, receive)
    else {
      this.#keep(chunk, from, until)
      const body = this.#take()
      this.#body(body, 0, expected, receive)
    }
    return until - from
  }

  #keep(chunk: Buffer, from: number, until: number): void {
    this.#parts.push(chunk.subarray(from, until))
    this.#size += until - from
  }

  /** The bytes kept so far, as one buffer. */
  #take(): Buffer {
    const all = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#size)
    this.#parts = []
    this.#size = 0
    return all
  }

  #checkKind(chunk: Buffer, at: number): void {
    const kind = chunk[at]!
    if (kind === 0x2b || kind === 0x2d || kind === 0x24 || kind === 0x3a) return
    throw this.#fail(`bytes that are no answer: ${JSON.stringify(chunk.toString('latin1', at, at + MAX_SHOWN))}`)
  }

  #body(bytes: Buffer, from: number, until: number, receive: (reply: Reply) => void): void {
    this.#expected = undefined
    if (bytes[until - 2] !== CR || bytes[until - 1] !== LF) throw this.#fail('a bulk string that does not end where its length says')
    receive(bytes.toString('utf8', from, until - 2))
  }

  #line(bytes: Buffer, from: number, until: number, receive: (reply: Reply) => void): void {
    if (until - from < 3 || bytes[until - 2] !== CR)
      throw this.#fail(`a line without its end: ${JSON.stringify(bytes.toString('latin1', from, Math.min(until, from + MAX_SHOWN)))}`)
    const text = bytes.toString('utf8', from + 1, until - 2)
    switch (bytes[from]) {
      case 0x2b:
        receive(text)
        break
      case 0x2d:
        receive(errorReply(text))
        break
      case 0x3a:
        if (!/^-?\d{1,19}$/.test(text)) throw this.#fail(`an integer that is none: ${JSON.stringify(text.slice(0, MAX_SHOWN))}`)
        receive(text)
        break
      default:
        this.#bulk(text, receive)
    }
  }

  #bulk(length: string, receive: (reply: Reply) => void): void {
    if (length === '-1') {
      receive(null)
      return
    }
    if (!/^\d{1,19}$/.test(length)) throw this.#fail(`a length that is none: ${JSON.stringify(length.slice(0, MAX_SHOWN))}`)
    if (Number(length) > this.#maxBulk) throw this.#fail(`an answer of ${length} bytes; at most ${this.#maxBulk} are taken`)
    this.#expected = Number(length) + 2
  }

  #fail(what: string): ReplySyntaxError {
    this.#parts = []
    this.#failure = new ReplySyntaxError(`The server sent ${what}.`)
    return this.#failure
  }
}

const errorReply = (line: string): ErrorReply => {
  const space = line.indexOf(' ')
  return space === -1 ? { code: line, text: line } : { code: line.slice(0, space), text: line.slice(space + 1) }
}
