/** The option `tls`: what both ends of an `amqps` connection show each other. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { flag, knownNames, plainObject, refuse } from '../../util/checks.js'
import type { TlsSettings } from '../connection/endpoint.js'

type Pem = string | Buffer

export interface TlsOptions {
  /** The authorities that the broker's certificate may come from, as PEM. Default those that Node knows. */
  ca?: Pem | readonly Pem[]
  /** The client's own certificate, with the chain behind it, as PEM. */
  cert?: Pem
  /** Its private key, as PEM. */
  key?: Pem
  /** Opens the key, if it is encrypted. */
  passphrase?: string
  /** The name that the broker's certificate has, where it is not that of the URL. */
  servername?: string
  /** False: whoever answers is taken for the broker. For trials only. Default true. */
  rejectUnauthorized?: boolean
}

const NAMES = ['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized'] as const satisfies readonly (keyof TlsOptions)[]

// What was given is not quoted: it may be a secret.
const pem = (name: string, value: unknown): Pem => {
  if ((typeof value === 'string' || Buffer.isBuffer(value)) && value.includes('-----BEGIN ')) return value
  throw new TypeError(`Option '${name}' must be the contents of a PEM file, with its line '-----BEGIN …': readFileSync('/path/to/file.pem').`)
}

const contextOf = ({ ca, cert, key, passphrase }: Record<string, unknown>): SecureContext => {
  if (passphrase !== undefined && (typeof passphrase !== 'string' || passphrase === ''))
    throw new TypeError("Option 'tls.passphrase' must be a non-empty text.")
  if ((cert === undefined) !== (key === undefined))
    throw new TypeError(`Option 'tls.${cert === undefined ? 'cert' : 'key'}' is missing: a certificate and its key come together.`)
  const given = {
    ca: ca === undefined ? undefined : Array.isArray(ca) ? ca.map((each: unknown, index) => pem(`tls.ca[${index}]`, each)) : pem('tls.ca', ca),
    cert: cert === undefined ? undefined : pem('tls.cert', cert),
    key: key === undefined ? undefined : pem('tls.key', key),
    passphrase,
  }
  try {
    return createSecureContext(given)
  } catch (cause) {
    throw new TypeError(
      `Option 'tls' cannot be used: ${(cause as Error).message}. Check that the files are whole, that the key belongs to the certificate, and the passphrase.`,
      { cause },
    )
  }
}

/** Throws TypeError naming what is wrong. */
export const readTls = (value: unknown, url: string): TlsSettings | undefined => {
  if (value === undefined) return undefined
  const given = plainObject('tls', value)
  knownNames('tls', given, NAMES)
  if (!url.startsWith('amqps:')) throw new TypeError("Option 'tls' is for an encrypted connection: let 'url' begin with amqps://.")
  const { servername, rejectUnauthorized } = given
  if (servername !== undefined && (typeof servername !== 'string' || servername === '')) throw refuse('tls.servername', 'the name of a host', servername)
  return {
    secureContext: contextOf(given),
    ...(servername === undefined ? undefined : { servername }),
    ...(rejectUnauthorized === undefined ? undefined : { rejectUnauthorized: flag('tls.rejectUnauthorized', rejectUnauthorized) }),
  }
}
