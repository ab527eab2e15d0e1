import { escapeControl } from '../../util/escape.js'
import type { Paint } from './paint.js'

const LEVELS: Record<number, [name: string, colour: Parameters<Paint>[0]]> = {
  10: ['TRACE', 'dim'],
  20: ['DEBUG', 'dim'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
}
const OWN = new Set(['level', 'time', 'msg', 'err', 'pid', 'hostname'])

const shownValue = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}

const stackOf = (err: unknown): string => {
  if (typeof err !== 'object' || err === null) return ''
  const { stack, message } = err as { stack?: unknown; message?: unknown }
  const text = typeof stack === 'string' ? stack : String(message ?? '')
  return `\n${text.replace(/^/gm, '    ')}`
}

const clock = (time: number): string => {
  const at = new Date(time)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`
}

/** A JSON line of pino as a line for people: time of day, level, message, then what else it says. */
export const prettyLine = (json: string, paint: Paint): string => {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(json)
  } catch {
    return json
  }
  const [level, colour] = LEVELS[Number(line.level)] ?? ['     ', 'dim']
  const rest = Object.entries(line).flatMap(([key, value]) => (OWN.has(key) || value === undefined ? [] : [`${key}=${shownValue(value)}`]))
  const details = rest.length === 0 ? '' : ` ${paint('dim', escapeControl(rest.join(' ')))}`
  return `${paint('dim', clock(Number(line.time)))} ${paint(colour, level)} ${escapeControl(String(line.msg ?? ''))}${details}${escapeControl(stackOf(line.err))}\n`
}
