import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionSettings } from '../../../src/faktory/connection/connection.js'
import { endpointOf } from '../../../src/faktory/options.js'
import { type FetchedJob, Fetchers } from '../../../src/faktory/worker/fetchers.js'
import { QueueOrder } from '../../../src/faktory/worker/queue-order.js'
import { until } from '../../fixtures/support.js'
import { type LineServer, type LineServerOptions, lineServer } from '../connection/line-server.js'

const settingsOf = ({ url }: LineServer): ConnectionSettings => ({ ...endpointOf({ url, tls: undefined }), warn: () => {} })
const helloOr =
  (answer: NonNullable<LineServerOptions['answer']>): NonNullable<LineServerOptions['answer']> =>
  (line, socket) =>
    line.startsWith('HELLO') ? '+OK\r\n' : answer(line, socket)

describe('Fetchers', () => {
  const setUp = async (answer: NonNullable<LineServerOptions['answer']>, { capacity = 2, connections = 2 } = {}) => {
    const server = await lineServer({ answer: helloOr(answer) })
    const received: FetchedJob[] = []
    const warnings: string[] = []
    const state = { mayFetch: true, mayConnect: true }
    const fetchers = new Fetchers(capacity, {
      connections,
      connection: settingsOf(server),
      queues: new QueueOrder(['a', 'b']),
      receive: (job) => received.push(job),
      mayFetch: () => state.mayFetch,
      mayConnect: () => state.mayConnect,
      warn: (message) => warnings.push(message),
    })
    onTestFinished(async () => {
      await fetchers.close()
    })
    return { ...server, server, fetchers, received, warnings, state, fetches: () => server.lines.filter((line) => line === 'FETCH a b').length }
  }

  const JOB = '$2\r\n{}\r\n'

  it('fetches on each connection at once, and again at once after null', async () => {
    const { fetches, sockets } = await setUp(() => '$-1\r\n')
    await until('it fetches again and again', () => fetches() > 50)
    expect(sockets.size).toBe(2)
  })

  it('waits after an error, and says what it was', async () => {
    const { fetches, warnings } = await setUp(() => '-ERR redis: client is closed\r\n', { connections: 1 })
    await sleep(1_000)
    // After 100 to 200 ms, 200 to 400 ms, 400 to 800 ms.
    expect(fetches()).toBeGreaterThanOrEqual(2)
    expect(fetches()).toBeLessThanOrEqual(5)
    expect(warnings[0]).toContain('redis: client is closed')
  })

  it('holds room for what a FETCH in flight may bring', async () => {
    const waiting: (() => void)[] = []
    const { fetches, fetchers, received } = await setUp(
      (_line, socket) => {
        waiting.push(() => socket.write(JOB))
        return undefined
      },
      { capacity: 3, connections: 9 },
    )
    await until('three are in flight', () => fetches() === 3)
    waiting.splice(0, 2).map((give) => give())
    await until('two have come', () => received.length === 2)
    await sleep(50)
    expect(fetches()).toBe(3)
    received[0]!.release()
    received[0]!.release()
    await until('there is room for one', () => fetches() === 4)
    await sleep(50)
    expect(fetches()).toBe(4)
    fetchers.setCapacity(5)
    await until('there is room for two more', () => fetches() === 6)
    for (const give of waiting) give()
  })

  it('is paused when each FETCH in flight has ended, and delivers what it brings', async () => {
    const waiting: (() => void)[] = []
    const { fetches, fetchers, received } = await setUp((_line, socket) => {
      waiting.push(() => socket.write(JOB))
      return undefined
    })
    await until('two are in flight', () => fetches() === 2)
    let isPaused = false
    const paused = fetchers.pause().then(() => {
      isPaused = true
    })
    waiting[0]!()
    await until('one has come', () => received.length === 1)
    await sleep(30)
    expect(isPaused).toBe(false)
    waiting[1]!()
    await paused
    expect(received).toHaveLength(2)
    for (const job of received) job.release()
    await sleep(30)
    expect(fetches()).toBe(2)
    fetchers.resume()
    await until('it fetches again', () => fetches() === 4)
    for (const give of waiting.slice(2)) give()
  })

  it('is not paused any more when it is resumed: the pause is over', async () => {
    const { fetches, fetchers } = await setUp(() => '$-1\r\n')
    await until('it fetches', () => fetches() > 2)
    let isOver = false
    const paused = fetchers.pause().then(() => {
      isOver = true
    })
    fetchers.resume()
    // A pause that waits for more than the FETCHes at its call never ends: each is followed by another.
    await until('it is over', () => isOver)
    await paused
  })

  it('fetches nothing while it must not, and goes on when it is woken', async () => {
    const { fetches, fetchers, state } = await setUp(() => '$-1\r\n')
    await until('it fetches', () => fetches() > 2)
    state.mayFetch = false
    await fetchers.pause()
    fetchers.resume()
    const before = fetches()
    await sleep(50)
    expect(fetches()).toBe(before)
    state.mayFetch = true
    fetchers.wake()
    await until('it fetches again', () => fetches() > before)
  })

  it('connects again after a loss', async () => {
    const { fetches, server } = await setUp(() => '$-1\r\n')
    await until('it fetches', () => fetches() > 2)
    server.cut()
    const before = fetches()
    await until('it fetches again', () => fetches() > before + 2)
  })
})
