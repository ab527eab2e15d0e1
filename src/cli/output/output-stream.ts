import { styleText } from 'node:util'
import { clearImmediate, setImmediate } from '../../util/node-time.js'
import { escapeJson } from '../../util/shown-text.js'
import type { OutputStream, TextStream } from '../cli-context.js'
import type { Environment } from '../settings/setting.js'

interface Stream extends TextStream {
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** Characters that wait for the end of the turn at most. */
const MAX_WAITING = 65_536

/** The process's stdout or stderr. A closed terminal, a reader that has exited or a full disk must not end a node that writes its log. */
export class ProcessStream implements OutputStream {
  readonly #stream: Stream
  /** What `writeSoon` was given in this turn. */
  #waiting = ''
  #endOfTurn: NodeJS.Immediate | undefined
  #failure: Error | undefined
  #listener: ((error: Error) => void) | undefined

  constructor(stream: Stream) {
    this.#stream = stream
    stream.on('error', (error) => this.#failed(error))
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true
  }

  /** Drops what cannot be written. The next write is tried again: the disk may have space by then. */
  write(text: string): void {
    this.flush()
    this.#write(text)
  }

  /** A system call for each line of the log would cost a busy node as much as the job that it is about. */
  writeSoon(text: string): void {
    this.#waiting += text
    if (this.#waiting.length >= MAX_WAITING) this.flush()
    else this.#endOfTurn ??= setImmediate(() => this.flush())
  }

  flush(): void {
    clearImmediate(this.#endOfTurn)
    this.#endOfTurn = undefined
    const text = this.#waiting
    this.#waiting = ''
    if (text !== '') this.#write(text)
  }

  #write(text: string): void {
    try {
      this.#stream.write(text)
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  onFailure(listener: (error: Error) => void): void {
    this.#listener = listener
    if (this.#failure !== undefined) listener(this.#failure)
  }

  #failed(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#listener?.(error)
  }
}

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: 'dim' | 'bold' | 'green' | 'yellow' | 'red' | 'cyan', text: string) => string

/** Colours on a terminal, unless NO_COLOR is set (https://no-color.org): `styleText` of Node 20 does not decide it. */
export const paintFor = (stream: TextStream, env: Environment): Paint =>
  stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb' ? styleText : (_, text) => text

/** Values that JSON lacks: a BigInt becomes text, a Map an object, a Set an array. */
const replacer = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : value

/** On one line, for programs. */
export const toJsonLine = (value: unknown): string => escapeJson(JSON.stringify(value, replacer) ?? 'undefined')

/** Indented, for people and programs. */
export const toJson = (value: unknown): string => escapeJson(JSON.stringify(value, replacer, 2) ?? 'undefined')
