import { type Logger, pino, symbols } from 'pino'
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
  return pino({ level: logLevel, base: null, serializers: { err: errorFields } }, destination)
}

/** As pino has them. It appends the message of each cause, also where the error's own has said it. */
const errorFields = (error: unknown): unknown => {
  const fields = pino.stdSerializers.err(error as Error)
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: { message?: unknown } }
  const reason = cause?.message
  return typeof message === 'string' && typeof reason === 'string' && message.includes(reason) ? { ...fields, message } : fields
}

/** As pino numbers its levels. */
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
