/**
 * The stand-in answers as the recorded server did. With FAKTORY_URL and FAKTORY_REPLAY=1 the conversation is played against that server,
 * which it FLUSHes. What needs a server with a password, with TLS or a restart is played against the program that FAKTORY_BINARY names, if it is set.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { hasOpenssl, makeCertificates } from '../../fixtures/certificates.js'
import { FAKTORY_URL, FaktoryServer } from '../../fixtures/faktory.js'
import type { FaktoryServerOptions } from '../../fixtures/faktory-server/options.js'
import { RealServer } from './real-server.js'
import { Replay, type ReplayServer } from './replay.js'
import { readTranscript, type TranscriptSection } from './transcript.js'

const SECTIONS = new Map(readTranscript().map((section) => [section.title, section]))
const section = (title: string): TranscriptSection => SECTIONS.get(title)!

const realUrl = process.env.FAKTORY_REPLAY === '1' ? FAKTORY_URL : undefined

/** On one server, one after another: what one section leaves is seen in the next. */
const IN_SEQUENCE = ['hello', 'push', 'fetch', 'fail', 'beat', 'queue', 'slow']
/** Each on a server of its own. */
const ALONE = ['retryleak', 'auth (server with password)', 'tls', 'plaintls', 'restart1', 'restart2', 'stop']

/** The 60 s after which a worker is dropped, and what is measured by the same clock, at a twentieth. FETCH keeps its 2 s. */
const SLOW = { silence: 3_000, reap: 750, reserveSecond: 50 }

const play = (title: string, server: ReplayServer): Promise<void> => new Replay(server).play(section(title))

it('knows every section of the conversation', () => {
  expect([...IN_SEQUENCE, ...ALONE].toSorted()).toEqual([...SECTIONS.keys()].toSorted())
})

describe('the conversation with a server', { timeout: 300_000 }, () => {
  let standIn: FaktoryServer | undefined
  afterAll(() => standIn?.kill())
  const server = async (): Promise<ReplayServer> => {
    if (realUrl !== undefined)
      return { url: realUrl, webUrl: process.env.FAKTORY_WEB_URL ?? `http://${new URL(realUrl).hostname}:7420`, beatInterval: 12_000, realClock: true }
    standIn ??= await FaktoryServer.start({ web: true })
    return { url: standIn.url, webUrl: `http://127.0.0.1:${standIn.webPort}`, beatInterval: SLOW.silence / 5 }
  }

  it.each(IN_SEQUENCE)('%s', async (title) => {
    const played = await server()
    if (title === 'slow') standIn?.changeClocks(SLOW)
    await play(title, played)
  })
})

const binary = process.env.FAKTORY_BINARY

describe.skipIf(realUrl !== undefined && binary === undefined)('the conversation with a server of its own', () => {
  const withServer = async (options: FaktoryServerOptions, use: (server: FaktoryServer | RealServer) => Promise<void>): Promise<void> => {
    const server = binary === undefined ? await FaktoryServer.start(options) : await RealServer.start(binary, options)
    try {
      await use(server)
    } finally {
      await server.kill()
    }
  }

  it('retryleak', () => withServer({}, ({ url }) => play('retryleak', { url })))

  it('auth', () => withServer({ password: 's3cret@=' }, ({ url }) => play('auth (server with password)', { url, password: 's3cret@=' })))

  it.skipIf(!hasOpenssl)('tls', async () => {
    const certificates = makeCertificates()
    const tls = { key: certificates.read('server.key').toString(), cert: certificates.read('server.pem').toString() }
    certificates.remove()
    await withServer({ tls }, ({ url }) => play('tls', { url }))
  })

  it('plaintls', () => withServer({}, ({ url }) => play('plaintls', { url: url.replace('tcp:', 'tcp+tls:') })))

  it('restart1 and restart2', () =>
    withServer({}, async (server) => {
      await play('restart1', server)
      await server.restart()
      await play('restart2', server)
    }))

  it('stop', () => withServer({}, (server) => play('stop', { url: server.url, stop: () => server.stop() })))
})
