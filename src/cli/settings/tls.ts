/** The certificates of an encrypted connection: variables that name files. */
import { UsageError } from '../exit.js'
import { type Environment, readSetting, type Setting } from './setting.js'
import { contents, name } from './values.js'

/** The contents of PEM files, the passphrase of the key, and the name in the broker's certificate. */
export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly passphrase?: string
  readonly servername?: string
}

/** The variables of a broker, by option of its library. `prefix`: RABBITMQ or FAKTORY. */
export const tlsSettings = (prefix: string, broker: string) =>
  ({
    'tls.ca': { variable: `${prefix}_TLS_CA`, reader: contents },
    'tls.cert': { variable: `${prefix}_TLS_CERT`, reader: contents },
    'tls.key': { variable: `${prefix}_TLS_KEY`, reader: contents },
    'tls.passphrase': {
      // No flag: every user of the machine can read a command line.
      variable: `${prefix}_TLS_PASSPHRASE`,
      reader: { wants: 'the passphrase of the key', read: (text: string) => text, secret: true },
      verbatim: true,
    },
    'tls.servername': { variable: `${prefix}_TLS_SERVERNAME`, reader: name(`the name in ${broker}'s certificate,`) },
  }) satisfies Record<string, Setting<unknown>>

/** `scheme`: of a URL with TLS; `sources`: the flag and the variables that give the URL. */
export const readTls = (
  settings: ReturnType<typeof tlsSettings>,
  { prefix, url, scheme, sources }: { prefix: string; url: string; scheme: string; sources: string },
  env: Environment,
): TlsFiles | undefined => {
  const ca = readSetting(settings['tls.ca'], {}, env)
  const cert = readSetting(settings['tls.cert'], {}, env)
  const key = readSetting(settings['tls.key'], {}, env)
  const passphrase = readSetting(settings['tls.passphrase'], {}, env)
  if (passphrase !== undefined && key === undefined)
    throw new UsageError(`${prefix}_TLS_PASSPHRASE opens the key that ${prefix}_TLS_KEY names: set both, or leave it out.`)
  const servername = readSetting(settings['tls.servername'], {}, env)
  if (ca === undefined && cert === undefined && key === undefined && servername === undefined) return undefined
  if (!url.toLowerCase().startsWith(`${scheme}:`))
    throw new UsageError(`${prefix}_TLS_CA, _CERT, _KEY and _SERVERNAME are for an encrypted connection: let ${sources} begin with ${scheme}://.`)
  if ((cert === undefined) !== (key === undefined)) throw new UsageError(`${prefix}_TLS_CERT and ${prefix}_TLS_KEY come together: a certificate and its key.`)
  return { ca, cert, key, passphrase, servername }
}
