/** Certificates for one test file, made with openssl: an authority, a server and a client signed by it, and a self-signed one (`stranger`). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execaSync } from 'execa'

export const hasOpenssl = !execaSync('openssl', ['version'], { reject: false }).failed
if (!hasOpenssl) console.warn('SKIPPED: the suites with TLS, because there is no openssl')

export const PASSPHRASE = 'opens the key'

export interface Certificates {
  /** Of a file: 'ca.pem', 'server.pem', 'client.pem', 'stranger.pem', each with its '.key'; 'client.locked.key' needs the passphrase. */
  path(name: string): string
  read(name: string): Buffer
  remove(): void
}

/** The server's certificate is for the name 'localhost' only. */
export const makeCertificates = (): Certificates => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-certificates-'))
  const openssl = (...typed: string[]): void => {
    execaSync('openssl', typed, { cwd: folder })
  }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const own = (name: string): void =>
    openssl('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=prefork test ${name}`, '-days', '2')
  const signed = (name: string): void => {
    openssl('req', '-new', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=prefork test ${name}`)
    const extensions = ['-extfile', 'extensions', '-days', '2', '-set_serial', String(Date.now())]
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-out', `${name}.pem`, ...extensions)
  }
  writeFileSync(join(folder, 'extensions'), 'subjectAltName=DNS:localhost\n')
  own('ca')
  own('stranger')
  signed('server')
  signed('client')
  openssl('pkey', '-in', 'client.key', '-aes256', '-passout', `pass:${PASSPHRASE}`, '-out', 'client.locked.key')
  const path = (name: string): string => join(folder, name)
  return { path, read: (name) => readFileSync(path(name)), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
