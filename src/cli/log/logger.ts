import { type Logger, pino } from 'pino'
import type { Environment } from '../settings/setting.js'
import { paintFor } from './paint.js'
import { prettyLine } from './pretty.js'

export interface LineStream {
  isTTY?: boolean
  write(text: string): unknown
}

/** Lines for people on a terminal, JSON lines anywhere else. Written at once: nothing is lost when the process ends. */
export const createLogger = (stream: LineStream, env: Environment, { verbose = false }: { verbose?: boolean } = {}): Logger => {
  const paint = paintFor(stream, env)
  const destination =
    stream.isTTY === true ? { write: (line: string) => stream.write(prettyLine(line, paint)) } : { write: (line: string) => stream.write(line) }
  return pino({ level: verbose ? 'debug' : 'info', base: null }, destination)
}
