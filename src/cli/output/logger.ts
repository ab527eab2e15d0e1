import { type LogFn, type Logger, pino, symbols } from 'pino'
import { shownClock } from '../../dashboard/format/values.js'
import { escapeControl, escapeLine } from '../../util/shown-text.js'
import type { TextStream } from '../cli-context.js'
import type { Environment } from '../settings/setting.js'
import type { LogLevel } from '../settings/work.js'
import { type Paint, paintFor } from './output-stream.js'

/**
 * Readable lines on a terminal, JSON lines anywhere else. Lines below a warning are written at the end of the turn of the event loop, all
 * others at once: what precedes a crash is not lost with it.
 */
export const createLogger = (stream: TextStream, env: Environment, { logLevel }: { logLevel: LogLevel }): Logger => {
  const paint = paintFor(stream, env)
  const destination = {
    // pino sets `lastLevel` before each line.
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(json: string): void {
      const line = stream.isTTY === true ? prettyLine(json, paint) : json
      if (this.lastLevel < WARNING && stream.writeSoon !== undefined) stream.writeSoon(line)
      else stream.write(line)
    },
  }
  const logger = pino({ level: logLevel, base: null, serializers: { err: errorFields } }, destination)
  if (logger.isLevelEnabled('info')) {
    const { info } = logger
    const plain = new PlainLines()
    // Nearly every line of a busy node tells that a job has succeeded. pino takes three times as long for it.
    logger.info = (...args: unknown[]): void => {
      const line = args.length === 2 ? plain.line(args[0], args[1]) : undefined
      if (line === undefined) info.apply(logger, args as Parameters<LogFn>)
      else {
        destination.lastLevel = INFO
        destination.write(line)
      }
    }
  }
  return logger
}

/** Names of fields whose JSON is kept. The code has some fifty. */
const MAX_NAMES = 200

/** The lines that pino writes, where all fields are texts or numbers. Its parts are mostly those of the line before. */
class PlainLines {
  #time = 0
  #head = ''
  #text: string | undefined
  #tail = ''
  readonly #names = new Map<string, string>()

  /** Undefined: pino has to write it. */
  line(fields: unknown, text: unknown): string | undefined {
    if (typeof text !== 'string' || typeof fields !== 'object' || fields === null || fields instanceof Error) return undefined
    let line = this.#headOf(Date.now())
    for (const name in fields) {
      if (!Object.hasOwn(fields, name)) continue
      const value = (fields as Record<string, unknown>)[name]
      if (typeof value === 'string') line += this.#nameOf(name) + quoted(value)
      else if (typeof value === 'number' && Number.isFinite(value)) line += this.#nameOf(name) + value
      else if (value !== undefined) return undefined
    }
    return line + this.#tailOf(text)
  }

  #headOf(time: number): string {
    if (time !== this.#time) {
      this.#time = time
      this.#head = `{"level":${INFO},"time":${time}`
    }
    return this.#head
  }

  #nameOf(name: string): string {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const made = `,${JSON.stringify(name)}:`
    if (this.#names.size < MAX_NAMES) this.#names.set(name, made)
    return made
  }

  #tailOf(text: string): string {
    if (text !== this.#text) {
      this.#text = text
      this.#tail = `,"msg":${JSON.stringify(text)}}\n`
    }
    return this.#tail
  }
}

const LONGEST_PLAIN = 64

/** As JSON. Most texts are short and need no escapes: a loop finds that in half the time. */
const quoted = (text: string): string => {
  if (text.length > LONGEST_PLAIN) return JSON.stringify(text)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return JSON.stringify(text)
  }
  return `"${text}"`
}

/** As pino has them. It appends the message of each cause, also where the error's own has said it. */
const errorFields = (error: unknown): unknown => {
  const fields = pino.stdSerializers.err(error as Error)
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: { message?: unknown } }
  const reason = cause?.message
  return typeof message === 'string' && typeof reason === 'string' && message.includes(reason) ? { ...fields, message } : fields
}

/** As pino numbers its levels. */
const INFO = 30
const WARNING = 40

const LEVELS: Record<number, [name: string, colour: Parameters<Paint>[0]]> = {
  10: ['TRACE', 'dim'],
  20: ['DEBUG', 'dim'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
}
const OWN = new Set(['level', 'time', 'msg', 'err', 'pid', 'hostname'])

/** The time of day for the time of a line that a task has printed (`at`); a list of names without quotes where none needs them; any other value that is no string as JSON. */
const shownValue = (key: string, value: unknown): string => {
  if (key === 'at' && typeof value === 'number') return clock(value)
  if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string' && /^[^\s"=,[\]]+$/.test(each))) return `[${value.join(', ')}]`
  if (typeof value !== 'string') return JSON.stringify(value)
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}

const stackOf = (err: unknown): string => {
  if (typeof err !== 'object' || err === null) return ''
  const { stack, message } = err as { stack?: unknown; message?: unknown }
  const text = typeof stack === 'string' ? stack : String(message ?? '')
  return `\n${text.replace(/^/gm, '    ')}`
}

const clock = (time: number): string => `${shownClock(time)}.${String(new Date(time).getMilliseconds()).padStart(3, '0')}`

/** A JSON line of pino as a readable line: time of day, level, message, then the other members. */
export const prettyLine = (json: string, paint: Paint): string => {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(json)
  } catch {
    return json
  }
  const [level, colour] = LEVELS[Number(line.level)] ?? ['     ', 'dim']
  const rest = Object.entries(line).flatMap(([key, value]) => (OWN.has(key) || value === undefined ? [] : [`${key}=${shownValue(key, value)}`]))
  const details = rest.length === 0 ? '' : ` ${paint('dim', escapeLine(rest.join(' ')))}`
  return `${paint('dim', clock(Number(line.time)))} ${paint(colour, level)} ${escapeLine(String(line.msg ?? ''))}${details}${escapeControl(stackOf(line.err))}\n`
}
