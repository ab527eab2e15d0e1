/** Where the server is: `tcp://:password@host:7419`, or `tcp+tls://` for an encrypted connection. */
import { type Check, nonEmptyString, OptionError } from '../../util/checks.js'

export const DEFAULT_PORT = 7419
export const DEFAULT_URL = `tcp://localhost:${DEFAULT_PORT}`

export interface FaktoryAddress {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** Sent in HELLO. The server ignores it; a proxy may use it. */
  readonly username: string | undefined
  readonly password: string | undefined
  /** Of a URL that ends with `?rejectUnauthorized=false` or `=true`. */
  readonly rejectUnauthorized: boolean | undefined
  /** The URL for messages: without the password. */
  readonly shown: string
}

const FORM = 'must be a URL of the form tcp://:password@host:7419 (tcp+tls:// for TLS)'

/** What may follow the port with TLS. */
const SEARCH = /^\?rejectUnauthorized=(true|false)$/

/** The value is not shown: it may hold a password. */
const refused = (name: string, reason: string): OptionError => new OptionError(name, reason)

const decoded = (name: string, what: string, text: string): string | undefined => {
  if (text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused(name, `has a ${what} that is not percent-encoded UTF-8: write a '%' in it as %25`)
  }
}

/**
 * Reads the URL of a server. The port is 7419 where it is left out.
 *
 * @throws {OptionError} it has another form; the message does not show it
 */
export const readAddress = (name: string, url: string): FaktoryAddress => {
  // The URL would end there, before its '@'.
  if (/^tcp(\+tls)?:\/\/[^@]*[/?#].*@/i.test(url)) throw refused(name, `${FORM}: a '/', '?' or '#' in the password is written as %2F, %3F, %23`)
  if (!/^tcp(\+tls)?:\/\//i.test(url) || !URL.canParse(url)) throw refused(name, FORM)
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(url)
  if (hostname === '') throw refused(name, FORM)
  const isTls = protocol === 'tcp+tls:'
  if ((pathname !== '' && pathname !== '/') || (search !== '' && !(isTls && SEARCH.test(search))) || hash !== '')
    throw refused(name, `${FORM}, with nothing behind the port, or ?rejectUnauthorized=false with TLS`)
  if (port === '0') throw refused(name, 'must name a port from 1 to 65535')
  const secret = decoded(name, 'password', password)
  const place = `${hostname}:${port === '' ? DEFAULT_PORT : port}`
  return {
    // The brackets of IPv6 belong to the URL.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? DEFAULT_PORT : Number(port),
    tls: isTls,
    rejectUnauthorized: search === '' ? undefined : search.endsWith('=true'),
    username: decoded(name, 'user name', username),
    password: secret,
    shown: `${protocol}//${secret === undefined ? '' : ':***@'}${place}`,
  }
}

/** The check of an option `url`. */
export const faktoryUrl: Check<string> = (name, value) => {
  const url = nonEmptyString(name, value)
  readAddress(name, url)
  return url
}

type Environment = Readonly<Record<string, string | undefined>>

/** The URL that the environment gives: FAKTORY_URL, or the variable that FAKTORY_PROVIDER names. Undefined: neither is set. */
export const urlOfEnvironment = (env: Environment): { readonly variable: string; readonly url: string } | undefined => {
  const { FAKTORY_PROVIDER: provider, FAKTORY_URL: url } = env
  if (provider === undefined || provider === '') return url === undefined || url === '' ? undefined : { variable: 'FAKTORY_URL', url }
  if (provider.includes(':'))
    throw refused(
      'FAKTORY_PROVIDER',
      'must be the name of the variable that holds the URL, such as FAKTORYTOGO_URL; it holds a colon. Set FAKTORY_URL to give the URL itself',
    )
  if (provider === 'FAKTORY_PROVIDER')
    throw refused('FAKTORY_PROVIDER', 'must be the name of another variable, which holds the URL, such as FAKTORYTOGO_URL; it holds its own name')
  const named = env[provider]
  if (named === undefined || named === '')
    throw refused('FAKTORY_PROVIDER', `names the variable '${provider}', which is not set: set it to the URL of the server, or unset FAKTORY_PROVIDER`)
  return { variable: provider, url: named }
}

/**
 * The address of an option `url`, or that of the environment (FAKTORY_PROVIDER, FAKTORY_URL), or tcp://localhost:7419.
 *
 * @throws {OptionError} the URL or FAKTORY_PROVIDER cannot be used; names the option or the variable
 */
export const addressOf = (url: string | undefined, env: Environment = process.env): FaktoryAddress => {
  if (url !== undefined) return readAddress('url', url)
  const given = urlOfEnvironment(env)
  return given === undefined ? readAddress('url', DEFAULT_URL) : readAddress(given.variable, given.url)
}
