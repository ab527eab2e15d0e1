import { textWithoutPasswords } from '../../util/redact.js'
import type { JobMessage } from '../message/job.js'

/** Characters of the arguments of one job, of one text in them, and levels of nesting that are shown. */
const MAX_TEXT = 2_000
const MAX_STRING = 500
const MAX_DEPTH = 6

/** Names whose texts are not shown. */
const SECRET_NAME = /pass(?:word|wd|phrase)|secret|token|authorization|credential|cookie|api_?key|private_?key/i

/**
 * The arguments of a job as one line for people, about as JSON writes them, cut to 2,000 characters. Not shown are passwords in URLs, and texts
 * under a name such as `password` or `token`. The cost is bounded, however large the arguments are.
 */
export const shownArguments = ({ args, kwargs }: Pick<JobMessage, 'args' | 'kwargs'>): string => {
  const writer = new BoundedWriter()
  writer.value(kwargs === undefined ? args : [...args.slice(0, MAX_TEXT), kwargs], 0)
  return writer.text
}

class BoundedWriter {
  text = ''

  get #full(): boolean {
    return this.text.length >= MAX_TEXT
  }

  #put(text: string): void {
    if (this.#full) return
    this.text += text
    if (this.#full) this.text = `${this.text.slice(0, MAX_TEXT - 1)}…`
  }

  value(value: unknown, depth: number): void {
    if (typeof value === 'string') this.#put(JSON.stringify(shortened(value)))
    else if (typeof value === 'object' && value !== null) this.#object(value, depth)
    else this.#put(typeof value === 'bigint' ? `${value}n` : String(value))
  }

  #object(value: object, depth: number): void {
    if (value instanceof Date) this.#put(Number.isNaN(value.getTime()) ? 'an invalid date' : JSON.stringify(value))
    else if (ArrayBuffer.isView(value)) this.#put(`<${value.byteLength} bytes>`)
    else if (depth >= MAX_DEPTH) this.#put('…')
    else if (Array.isArray(value)) {
      this.#put('[')
      for (let i = 0; i < value.length && !this.#full; i++) {
        if (i > 0) this.#put(', ')
        this.value(value[i], depth + 1)
      }
      this.#put(']')
    } else this.#record(value as Record<string, unknown>, depth)
  }

  #record(record: Record<string, unknown>, depth: number): void {
    let first = true
    this.#put('{')
    for (const name in record) {
      if (this.#full) break
      if (!Object.hasOwn(record, name)) continue
      this.#put(`${first ? '' : ', '}${JSON.stringify(name.slice(0, MAX_STRING))}: `)
      first = false
      const value = record[name]
      if (typeof value === 'string' && SECRET_NAME.test(name)) this.#put('"***"')
      else this.value(value, depth + 1)
    }
    this.#put('}')
  }
}

/** Passwords are replaced first: a cut must not leave half of one. */
const shortened = (text: string): string => {
  const shown = textWithoutPasswords(text.slice(0, 4 * MAX_STRING))
  return shown.length > MAX_STRING ? `${shown.slice(0, MAX_STRING)}…` : shown
}
