import { MIN_TOKEN } from '../../dashboard/web/access.js'
import { UsageError } from '../exit.js'
import { type Environment, type Flags, readSetting, type Setting } from './setting.js'
import { name, port, type Reader } from './values.js'

export interface HttpSettings {
  readonly port: number
  readonly host: string
  /** Whoever has it may use the dashboard. Undefined: one is made. */
  readonly token: string | undefined
}

const tokenText: Reader<string> = {
  secret: true,
  wants: `a text of at least ${MIN_TOKEN} letters, digits and - . _ ~`,
  read: (text) => (text.length >= MIN_TOKEN && /^[\w.~-]+$/.test(text) ? text : undefined),
}

const HTTP: Setting<number> = { flag: '--http', reader: port }
const HTTP_HOST: Setting<string> = { flag: '--http-host', reader: name('a host') }
// No flag: every user of the machine can read a command line.
const HTTP_TOKEN: Setting<string> = { variable: 'ASYNC_FARM_HTTP_TOKEN', reader: tokenText, refuseBlank: true }

/** For the help. */
export const HTTP_VARIABLES: readonly (readonly [variable: string, fallback: string, help: string])[] = [
  ['ASYNC_FARM_HTTP_TOKEN', 'made at the start', 'who has it may use the dashboard in a browser'],
]

/** Undefined: no port was named. */
export const readHttp = (flags: Flags, env: Environment): HttpSettings | undefined => {
  const number = readSetting(HTTP, flags, env)
  const host = readSetting(HTTP_HOST, flags, env)
  const token = readSetting(HTTP_TOKEN, flags, env)
  if (number === undefined) {
    if (host !== undefined) throw new UsageError('--http-host needs --http with a port: --http 9090 --http-host 0.0.0.0')
    return undefined
  }
  return { port: number, host: host ?? '127.0.0.1', token }
}

/** Whether only processes of this machine reach a server that listens there. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
