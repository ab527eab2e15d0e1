import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ConnectionSettings, FaktoryConnection } from '../../../src/faktory/connection/connection.js'
import { addressOf } from '../../../src/faktory/protocol/address.js'
import { PasswordHashes } from '../../../src/faktory/protocol/password-hash.js'
import { readTls } from '../../../src/node/connection/tls-options.js'
import { hasOpenssl, makeCertificates } from '../../fixtures/certificates.js'
import { blockHost, failure, until } from '../../fixtures/support.js'
import { lineServer } from './line-server.js'

const warnings: string[] = []
const settingsOf = (url: string, more: Partial<ConnectionSettings> = {}): ConnectionSettings => {
  const address = addressOf(url)
  return { address, hashes: address.password === undefined ? undefined : new PasswordHashes(address.password), warn: (text) => warnings.push(text), ...more }
}

const open = async (url: string, more?: Partial<ConnectionSettings>): Promise<FaktoryConnection> => {
  const connection = await FaktoryConnection.open(settingsOf(url, more))
  onTestFinished(() => connection.destroy(new Error('The test is over.')))
  return connection
}

const IDENTITY = { wid: 'w1', hostname: 'h', pid: 7, labels: ['prefork', 'node'] }

describe('the handshake', () => {
  it('says HELLO with version 2, as a producer', async () => {
    const { url, lines } = await lineServer()
    await open(url)
    expect(lines).toEqual(['HELLO {"v":2}'])
  })

  it('says who the worker is', async () => {
    const { url, lines } = await lineServer()
    await open(url, { identity: IDENTITY })
    expect(JSON.parse(lines[0]!.slice('HELLO '.length))).toEqual({ v: 2, ...IDENTITY })
  })

  it('hashes the password with the rounds and the salt of the server', async () => {
    const { url, lines } = await lineServer({ greeting: '+HI {"v":2,"i":5000,"s":"abcd"}\r\n' })
    await open(url.replace('//', '//me:s%C3%A4cret@'))
    expect(JSON.parse(lines[0]!.slice('HELLO '.length))).toEqual({ v: 2, username: 'me', pwdhash: await new PasswordHashes('säcret').of('abcd', 5_000) })
  })

  it('warns of a higher version, and goes on', async () => {
    const { url } = await lineServer({ greeting: '+HI {"v":3}\r\n' })
    warnings.length = 0
    const connection = await open(url)
    expect(await connection.command('INFO', undefined, { timeout: 5_000 })).toBe('OK')
    expect(warnings).toEqual([expect.stringContaining('speaks version 3')])
  })

  it('reports a refused password, and one that is missing, for good', async () => {
    const { url } = await lineServer({ greeting: '+HI {"v":2,"i":2,"s":"aa"}\r\n', answer: () => '-ERR Invalid password\r\n' })
    const wrong = (await failure(open(url.replace('//', '//:topsecret@')))) as Error
    expect(wrong).toMatchObject({ name: 'BrokerError', message: expect.stringContaining('refused the password') })
    expect(wrong.message).not.toContain('topsecret')
    expect(await failure(open(url))).toMatchObject({ name: 'BrokerError', message: expect.stringMatching(/wants a password.*FAKTORY_PASSWORD/) })
  })

  it.each([
    ['an error', '-ERR too many connections: 2000\r\n', /refused the connection: too many connections/],
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n', /no Faktory server/],
    ['another text', '+PONG\r\n', /does not greet as Faktory does/],
    ['bad JSON', '+HI {\r\n', /does not greet as Faktory does/],
    ['a salt of another type', '+HI {"v":2,"i":1,"s":5}\r\n', /does not greet as Faktory does/],
    ['more rounds than any server', '+HI {"v":2,"i":99999999,"s":"aa"}\r\n', /rounds of hashing/],
  ])('refuses a server that greets with %s', async (_what, greeting, message) => {
    const { url } = await lineServer({ greeting })
    expect(await failure(open(url.replace('//', '//:pw@')))).toMatchObject({
      name: 'ConnectionLostError',
      sent: false,
      message: expect.stringMatching(message),
    })
  })

  it('says that nobody listens', async () => {
    expect(await failure(open('tcp://:topsecret@127.0.0.1:1'))).toMatchObject({
      name: 'ConnectionLostError',
      message: expect.stringMatching(/^Faktory at tcp:\/\/:\*\*\*@127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/),
    })
  })

  it('connects over IPv6', async () => {
    const { url, lines } = await lineServer({ host: '::1' })
    expect(url).toContain('[::1]')
    await open(url)
    expect(lines).toHaveLength(1)
  })
})

describe.skipIf(!hasOpenssl)('TLS', () => {
  const certificates = makeCertificates()
  const { read } = certificates
  it('connects with the authority of the server, and checks its name', async () => {
    onTestFinished(() => certificates.remove())
    const tls = { key: read('server.key'), cert: read('server.pem') }
    const { port } = await lineServer({ tls })
    const ca = read('ca.pem')
    const connection = await open(`tcp+tls://localhost:${port}`, { tls: readTls('tls', { ca }) })
    expect(await connection.command('INFO', undefined, { timeout: 5_000 })).toBe('OK')
    // The certificate is for localhost alone.
    expect(await failure(open(`tcp+tls://127.0.0.1:${port}`, { tls: readTls('tls', { ca }) }))).toMatchObject({
      name: 'BrokerError',
      message: expect.stringMatching(/not trusted.*FAKTORY_TLS_CA/),
    })
    expect(await failure(open(`tcp+tls://localhost:${port}`))).toMatchObject({ name: 'BrokerError', message: expect.stringMatching(/not trusted/) })
    await open(`tcp+tls://127.0.0.1:${port}`, { tls: readTls('tls', { rejectUnauthorized: false }) })
    await open(`tcp+tls://127.0.0.1:${port}?rejectUnauthorized=false`)
    await open(`tcp+tls://127.0.0.1:${port}/?rejectUnauthorized=false`, { tls: readTls('tls', { ca }) })
    // A plain client: the server waits for it to speak first. A Faktory server closes after 2 s.
    const silent = await lineServer({ greeting: '' })
    const closes = setTimeout(() => silent.cut(), 500)
    onTestFinished(() => clearTimeout(closes))
    expect(await failure(open(silent.url))).toMatchObject({ message: expect.stringMatching(/closed the connection without a greeting: .*tcp\+tls:\/\//) })
  })

  it('says that the server wants a certificate of the client, also after the handshake', async () => {
    const own = makeCertificates()
    onTestFinished(() => own.remove())
    const ca = own.read('ca.pem')
    const tls = { key: own.read('server.key'), cert: own.read('server.pem'), ca, requestCert: true, rejectUnauthorized: true }
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const { port } = await lineServer({ tls: { ...tls, maxVersion } })
      expect(await failure(open(`tcp+tls://localhost:${port}`, { tls: readTls('tls', { ca }) }))).toMatchObject({
        name: 'BrokerError',
        message: expect.stringMatching(/wants one: .+ \(the options tls\.cert and tls\.key, or FAKTORY_TLS_CERT and FAKTORY_TLS_KEY\)/),
      })
      await open(`tcp+tls://localhost:${port}`, { tls: readTls('tls', { ca, cert: own.read('client.pem'), key: own.read('client.key') }) })
    }
  })

  it('says that the server speaks no TLS', async () => {
    const { port } = await lineServer()
    expect(await failure(open(`tcp+tls://127.0.0.1:${port}`))).toMatchObject({ name: 'BrokerError', message: expect.stringContaining('answers without TLS') })
  })
})

/** Linux shows the timers of its sockets: 02 is that of keepalive. A socket of an earlier test that used the same port may wait for its end. */
describe.skipIf(process.platform !== 'linux')('keepalive', () => {
  const timersOf = (port: number): string[] =>
    readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .filter((line) => line.split(/ +/)[3]?.endsWith(`:${port.toString(16).toUpperCase().padStart(4, '0')}`))
      .map((line) => line.split(/ +/)[6]!.slice(0, 2))

  it('is set on a plain connection', async () => {
    const { url, port } = await lineServer()
    await open(url)
    await until('nothing else is timed', () => timersOf(port).includes('02'))
  })

  it.skipIf(!hasOpenssl)('is set on one with TLS', async () => {
    const certificates = makeCertificates()
    onTestFinished(() => certificates.remove())
    const { url, port } = await lineServer({ tls: { key: certificates.read('server.key'), cert: certificates.read('server.pem') } })
    await open(url, { tls: readTls('tls', { rejectUnauthorized: false }) })
    await until('nothing else is timed', () => timersOf(port).includes('02'))
  })
})

describe('commands', () => {
  it('are sent at once and answered in order', async () => {
    const { url, lines } = await lineServer({ answer: (line) => (line.startsWith('ECHO') ? `$${Buffer.byteLength(line)}\r\n${line}\r\n` : '+OK\r\n') })
    const connection = await open(url)
    const names = Array.from({ length: 50 }, (_, n) => `ä${n}`)
    const replies = await Promise.all(names.map((name) => connection.command('ECHO', name, { timeout: 5_000 })))
    expect(replies).toEqual(names.map((name) => `ECHO ${name}`))
    expect(lines).toHaveLength(51)
  })

  it('reject with what the server says, null is null', async () => {
    const answers = ['+OK\r\n', '-ERR Job not found x\r\n', '-NOTUNIQUE Job not unique\r\n', '$-1\r\n', '-SHORT\r\n']
    const { url } = await lineServer({ answer: () => answers.shift() })
    const connection = await open(url)
    expect(await failure(connection.command('FAIL', '{"jid":"x"}', { timeout: 5_000 }))).toMatchObject({
      name: 'FaktoryError',
      code: 'ERR_PREFORK_FAKTORY',
      serverCode: 'ERR',
      serverMessage: 'Job not found x',
      message: 'Faktory refused FAIL: Job not found x',
    })
    expect(await failure(connection.command('PUSH', '{}', { timeout: 5_000 }))).toMatchObject({ serverCode: 'NOTUNIQUE' })
    expect(await connection.command('FETCH', 'q', { timeout: 5_000 })).toBeNull()
    expect(await failure(connection.command('PUSH', '{}', { timeout: 5_000 }))).toMatchObject({ serverCode: 'SHORT' })
    expect(connection.isOpen).toBe(true)
  })

  it('refuses an argument with a line break', async () => {
    const { url } = await lineServer()
    const connection = await open(url)
    expect(() => connection.command('PUSH', 'a\nFLUSH', { timeout: 5_000 })).toThrow(TypeError)
  })

  it('rejects what is not answered when the connection is lost, and what comes after that', async () => {
    const { url, cut } = await lineServer({ answer: (line) => (line.startsWith('HELLO') ? '+OK\r\n' : undefined) })
    const connection = await open(url)
    const waiting = connection.command('ACK', '{}', { timeout: 5_000 })
    const lost = failure(waiting)
    await sleep(20)
    cut()
    expect(await lost).toMatchObject({ name: 'ConnectionLostError', sent: true })
    expect(connection.isOpen).toBe(false)
    expect(await failure(connection.command('ACK', '{}', { timeout: 5_000 }))).toMatchObject({ name: 'ConnectionLostError', sent: false })
  })

  it('gives up a connection that does not answer in time', async () => {
    const { url } = await lineServer({ answer: (line) => (line.startsWith('HELLO') ? '+OK\r\n' : undefined) })
    const connection = await open(url)
    expect(await failure(connection.command('INFO', undefined, { timeout: 50 }))).toMatchObject({
      name: 'ConnectionLostError',
      sent: true,
      message: expect.stringContaining('has not answered INFO in time'),
    })
  })

  it('finds the answer that came while the host was blocked', async () => {
    const { url } = await lineServer()
    const connection = await open(url)
    const answer = connection.command('FETCH', 'q', { timeout: 100 })
    // The answer of this process' own server is written once the host turns again: read before the deadline is applied.
    await sleep(1)
    blockHost(300)
    expect(await answer).toBe('OK')
  })

  it('closes on junk, with what it was', async () => {
    const { url } = await lineServer({ answer: (line) => (line.startsWith('HELLO') ? '+OK\r\n' : '?junk') })
    const connection = await open(url)
    expect(await failure(connection.command('INFO', undefined, { timeout: 5_000 }))).toMatchObject({
      message: expect.stringContaining('bytes that are no answer: "?junk"'),
    })
  })

  it('says END when everything is answered, and takes no more', async () => {
    const { url, lines } = await lineServer({
      answer: (line, socket) => {
        if (line === 'FETCH q') setTimeout(() => socket.write('$-1\r\n'), 50)
        return line === 'FETCH q' ? undefined : '+OK\r\n'
      },
    })
    const connection = await open(url)
    const fetched = connection.command('FETCH', 'q', { timeout: 5_000 })
    const ended = connection.end()
    expect(await failure(connection.command('INFO', undefined, { timeout: 5_000 }))).toMatchObject({ sent: false })
    await ended
    expect(await fetched).toBeNull()
    expect(lines).toEqual(['HELLO {"v":2}', 'FETCH q', 'END'])
  })
})
