/** The option `tls` of brokers: the certificates of an encrypted connection, those that it trusts and the client's own. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { flag, OptionError, objectWith, refusal } from '../../util/checks.js'

type Pem = string | Buffer

export interface TlsOptions {
  /** The certificate authorities that may have signed the broker's certificate, as PEM. Default those of Node.js. */
  ca?: Pem | readonly Pem[]
  /** The client's own certificate, with its chain, as PEM. */
  cert?: Pem
  /** Its private key, as PEM. */
  key?: Pem
  /** Decrypts the key, if it is encrypted. */
  passphrase?: string
  /** The name in the broker's certificate. Default the host of the URL. */
  servername?: string
  /** False: any certificate of the broker is accepted. For trials only. Default true. */
  rejectUnauthorized?: boolean
}

/** Options of Node's `tls.connect`. */
export interface TlsSettings {
  /** The certificate authorities, the client certificate and its key. */
  readonly secureContext: SecureContext
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

const NAMES = ['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized'] as const satisfies readonly (keyof TlsOptions)[]

// The message does not show the value: it may be a secret.
const pem = (name: string, value: unknown): Pem => {
  if ((typeof value === 'string' || Buffer.isBuffer(value)) && value.includes('-----BEGIN ')) return value
  throw new OptionError(name, "must be the contents of a PEM file, with its line '-----BEGIN …': readFileSync('/path/to/file.pem')")
}

const contextOf = ({ ca, cert, key, passphrase }: Record<string, unknown>): SecureContext => {
  if (passphrase !== undefined && (typeof passphrase !== 'string' || passphrase === '')) throw new OptionError('tls.passphrase', 'must be a non-empty text')
  if ((cert === undefined) !== (key === undefined))
    throw new OptionError(cert === undefined ? 'tls.cert' : 'tls.key', 'is missing: a certificate and its key come together')
  const given = {
    ca: ca === undefined ? undefined : Array.isArray(ca) ? ca.map((each: unknown, index) => pem(`tls.ca[${index}]`, each)) : pem('tls.ca', ca),
    cert: cert === undefined ? undefined : pem('tls.cert', cert),
    key: key === undefined ? undefined : pem('tls.key', key),
    passphrase,
  }
  try {
    return createSecureContext(given)
  } catch (cause) {
    const reason = `cannot be used: ${(cause as Error).message}. Check that the files are whole, that the key belongs to the certificate, and the passphrase`
    throw new OptionError('tls', reason, { cause })
  }
}

/** Throws TypeError naming what is wrong. */
export const readTls = (name: string, value: unknown): TlsSettings => {
  const given = objectWith(name, value, NAMES)
  const { servername, rejectUnauthorized } = given
  if (servername !== undefined && (typeof servername !== 'string' || servername === '')) throw refusal('tls.servername', 'the name of a host', servername)
  return {
    secureContext: contextOf(given),
    ...(servername === undefined ? undefined : { servername }),
    ...(rejectUnauthorized === undefined ? undefined : { rejectUnauthorized: flag('tls.rejectUnauthorized', rejectUnauthorized) }),
  }
}
