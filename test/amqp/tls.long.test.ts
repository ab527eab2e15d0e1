/** `amqps` with client certificates, over a real listener that requires them. */
import { createControlClient, createPublisher, createWorker, listDeadLetters, purge, retryDeadLetters, type TlsOptions } from 'prefork/amqp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permanentError } from '../../src/amqp/connection/connect-errors.js'
import { type Certificates, hasOpenssl, makeCertificates, PASSPHRASE } from '../fixtures/certificates.js'
import { fixture } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'
import { isolatedTopology, RABBITMQ_URL, reachable } from './rabbit.js'
import { type TlsListener, tlsListener } from './tls-listener.js'

describe.skipIf(!reachable || !hasOpenssl)('a broker behind TLS that requires client certificates', () => {
  const { queue, controlExchange, eventExchange, keep } = isolatedTopology()
  let certificates: Certificates
  let listener: TlsListener
  let url: string
  let good: TlsOptions
  beforeAll(async () => {
    certificates = makeCertificates()
    listener = await tlsListener(RABBITMQ_URL, certificates)
    const { username, password, pathname } = new URL(RABBITMQ_URL)
    url = `amqps://${username}:${password}@127.0.0.1:${listener.port}${pathname}`
    const { read } = certificates
    good = { ca: read('ca.pem'), cert: read('client.pem'), key: read('client.key'), servername: 'localhost' }
  }, 60_000)
  afterAll(async () => {
    await listener.close()
    certificates.remove()
  })
  const publisher = async (tls?: TlsOptions) => keep(await createPublisher({ url, queue, tls, connectTimeout: 20_000 }))

  it('accepts nodes, publishers and operators with a certificate', async () => {
    const where = { url, queue, tls: good }
    const node = await createWorker({ ...where, controlExchange, eventExchange, tasks: fixture('farm-tasks.js'), maxWorkers: 1, maxAttempts: 1 })
    try {
      const out = await publisher(good)
      expect(await out.call('echo', ['encrypted'])).toBe('encrypted')
      await failure(out.call('fail', ['alas']))
      const operator = keep(await createControlClient({ url, tls: good, controlExchange, eventExchange }))
      for await (const answer of operator.ask([node.name], { command: 'ping' }, { timeout: 20_000 }))
        expect(answer).toMatchObject({ node: node.name, ok: true })
    } finally {
      await node.shutdown({ grace: 0 })
    }
    expect(await listDeadLetters(where)).toMatchObject([{ reason: 'failed', error: { message: 'alas' } }])
    expect(await retryDeadLetters(where)).toEqual({ retried: 1 })
    expect(await purge(where)).toEqual({ removed: 1 })
  })

  it('works with strings and Buffers, several authorities, and an encrypted key', async () => {
    const { read } = certificates
    const out = await publisher({
      ...good,
      ca: [read('stranger.pem'), read('ca.pem').toString()],
      cert: read('client.pem').toString(),
      key: read('client.locked.key'),
      passphrase: PASSPHRASE,
    })
    expect(await out.publish('echo', [])).toMatch(/-/)
  })

  it('is not trusted without its authority, nor under another name, except with rejectUnauthorized: false', async () => {
    const { ca, servername, ...own } = good
    const untrusted =
      /^RabbitMQ at amqps:\/\/.+:\*\*\*@127\.0\.0\.1:\d+\/ shows a certificate that is not trusted: .+ \(the option tls\.ca, or RABBITMQ_TLS_CA\)/
    for (const tls of [undefined, { ...own, servername }, { ...own, ca }])
      expect(await failure(publisher(tls))).toMatchObject({ name: 'BrokerError', message: expect.stringMatching(untrusted) })
    expect(await (await publisher({ ...own, rejectUnauthorized: false })).publish('echo', [])).toMatch(/-/)
  })

  it('refuses a client without a certificate, or with one of another authority, at once and not after connectTimeout', async () => {
    const { ca, servername } = good
    const { read } = certificates
    const unwelcome = /^RabbitMQ at amqps:\/\/.+ refused the certificate of this client, or wants one: tlsv13 alert certificate required\. Give it one /
    expect(await failure(publisher({ ca, servername }))).toMatchObject({ name: 'BrokerError', message: expect.stringMatching(unwelcome) })
    const strange = { ca, servername, cert: read('stranger.pem'), key: read('stranger.key') }
    // A TLS server of Node closes without an alert.
    expect(await failure(createPublisher({ url, queue, tls: strange, connectTimeout: 1_000 }))).toMatchObject({
      name: 'BrokerError',
      message: expect.stringContaining('could not be reached within 1000 ms'),
    })
  })

  it('a key of another certificate, or one that the passphrase does not open, is refused before anything is sent', async () => {
    const { read } = certificates
    for (const tls of [
      { ...good, key: read('stranger.key') },
      { ...good, key: read('client.locked.key'), passphrase: 'another' },
    ]) {
      const error = await failure(publisher(tls))
      expect(error).toMatchObject({ name: 'TypeError', message: expect.stringMatching(/^Option 'tls' cannot be used: .+ Check that the files are whole/) })
    }
  })
})

it.each([
  'TLSV1_ALERT_UNKNOWN_CA',
  'SSLV3_ALERT_BAD_CERTIFICATE',
  'SSLV3_ALERT_CERTIFICATE_EXPIRED',
  'TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'SSLV3_ALERT_HANDSHAKE_FAILURE',
  'SSL/TLS_ALERT_BAD_CERTIFICATE',
])('what a broker says of a certificate does not pass by itself: %s', (alert) => {
  const error = Object.assign(new Error('80EC05D4927F0000:error:0A00045C:…\n'), { code: `ERR_SSL_${alert}`, reason: 'its reason' })
  expect(permanentError('amqps://x', error)?.message).toMatch(/^RabbitMQ at amqps:\/\/x refused the certificate of this client, or wants one: its reason\. /)
})

it('other errors of TLS may be temporary', () => {
  expect(permanentError('amqps://x', Object.assign(new Error('…'), { code: 'ERR_SSL_WRONG_VERSION_NUMBER', reason: 'wrong version number' }))).toBeUndefined()
})

it.each<[object, RegExp]>([
  [{ cart: 'x' }, /^Unknown option 'cart' of tls; did you mean 'cert'\?/],
  [{ ca: '/etc/ca.pem' }, /^Option 'tls\.ca' must be the contents of a PEM file, with its line '-----BEGIN …': readFileSync/],
  [{ ca: [Buffer.from('x')] }, /^Option 'tls\.ca\[0\]' must be the contents/],
  [{ cert: 's3cret', key: 's3cret' }, /^Option 'tls\.cert' must be the contents/],
  [{ cert: '-----BEGIN CERTIFICATE-----' }, /^Option 'tls\.key' is missing: a certificate and its key come together\.$/],
  [{ key: 's3cret' }, /^Option 'tls\.cert' is missing/],
  [{ passphrase: 53_73_7 }, /^Option 'tls\.passphrase' must be a non-empty text\.$/],
  [{ servername: '' }, /^Option 'tls\.servername' must be the name of a host; it was given ''\.$/],
  [{ rejectUnauthorized: 0 }, /^Option 'tls\.rejectUnauthorized' must be true or false; it was given 0\.$/],
])('tls: %o is refused, without a secret in the error', async (tls, message) => {
  const error = (await failure(createPublisher({ url: 'amqps://127.0.0.1:1/', tls }))) as Error
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message).toMatch(message)
  expect(error.message).not.toMatch(/s3cret|53737/)
})

it('tls is refused without amqps', async () => {
  expect(await failure(createControlClient({ url: 'amqp://127.0.0.1:1/', tls: {} }))).toMatchObject({
    message: "Option 'tls' is for an encrypted connection: let 'url' begin with amqps://.",
  })
})
