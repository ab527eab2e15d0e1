import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CommandConnections } from '../../../src/faktory/connection/command-connections.js'
import type { ConnectionSettings } from '../../../src/faktory/connection/connection.js'
import { endpointOf } from '../../../src/faktory/options.js'
import { type FetchedJob, Fetchers } from '../../../src/faktory/worker/fetchers.js'
import { QueueOrder } from '../../../src/faktory/worker/queue-order.js'
import { Reports } from '../../../src/faktory/worker/reports.js'
import { failure, until } from '../../fixtures/support.js'
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
    const state = { mayFetch: true }
    const fetchers = new Fetchers(capacity, {
      connections,
      connection: settingsOf(server),
      queues: new QueueOrder(['a', 'b']),
      receive: (job) => received.push(job),
      mayFetch: () => state.mayFetch,
      warn: (message) => warnings.push(message),
    })
    onTestFinished(() => fetchers.close())
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
    received[0]!.over()
    received[0]!.over()
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
    for (const job of received) job.over()
    await sleep(30)
    expect(fetches()).toBe(2)
    fetchers.resume()
    await until('it fetches again', () => fetches() === 4)
    for (const give of waiting.slice(2)) give()
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

describe('Reports', () => {
  const setUp = async (answer: (line: string, nth: number) => string | undefined, { max = 10 } = {}) => {
    let nth = 0
    const server = await lineServer({ answer: helloOr((line) => answer(line, ++nth)) })
    const commands = new CommandConnections({ ...settingsOf(server), connections: 1, maxWaiting: 100 })
    await commands.start()
    const rooms: number[] = []
    const reports = new Reports(commands, max, () => rooms.push(1))
    onTestFinished(async () => {
      await reports.close(0)
      await commands.close()
    })
    const sent = (verb: string): string[] => server.lines.filter((line) => line.startsWith(`${verb} `))
    return { reports, sent, server, rooms, until: () => performance.now() + 60_000 }
  }

  it('takes a job that the server does not know for final, whatever the spelling', async () => {
    const { reports, sent, until } = await setUp((_line, nth) => (nth === 1 ? '-ERR Job not found x\r\n' : '-ERR job not found x\r\n'))
    expect(await reports.fail('{"jid":"x"}', until())).toBe(false)
    expect(await reports.fail('{"jid":"x"}', until())).toBe(false)
    expect(sent('FAIL')).toHaveLength(2)
  })

  it('tries again what is refused for now, and rejects what is refused for good', async () => {
    const { reports, sent, until } = await setUp((line, nth) => {
      if (line.includes('bad')) return '-ERR invalid FAIL bad\r\n'
      return nth < 3 ? '-ERR shutdown in progress\r\n' : '+OK\r\n'
    })
    expect(await reports.ack('x')).toBe(true)
    expect(sent('ACK')).toHaveLength(3)
    expect(await failure(reports.fail('bad', until()))).toMatchObject({ name: 'FaktoryError', serverMessage: 'invalid FAIL bad' })
  })

  it('sends no FAIL after the end of its reservation, and an ACK at any time', async () => {
    const { reports, sent } = await setUp(() => '+OK\r\n')
    expect(await reports.fail('{"jid":"x"}', performance.now() - 1)).toBe(false)
    expect(sent('FAIL')).toEqual([])
    expect(await reports.ack('x')).toBe(true)
  })

  it('sends again what was lost with its connection', async () => {
    const { reports, sent, server } = await setUp((_line, nth) => (nth === 1 ? undefined : '+OK\r\n'))
    const acknowledged = reports.ack('x')
    await until('it was sent', () => sent('ACK').length === 1)
    server.cut()
    expect(await acknowledged).toBe(true)
    expect(sent('ACK')).toHaveLength(2)
  })

  it('says when too many are open, and when there is room again', async () => {
    const { reports, rooms, server, sent } = await setUp(() => undefined, { max: 2 })
    const all = [reports.ack('a'), reports.ack('b')]
    expect(reports.isFull).toBe(true)
    await until('they are sent', () => sent('ACK').length === 2)
    for (const socket of server.sockets) socket.write('+OK\r\n')
    await until('there is room', () => rooms.length === 1)
    expect(reports.isFull).toBe(false)
    for (const socket of server.sockets) socket.write('+OK\r\n')
    expect(await Promise.all(all)).toEqual([true, true])
    expect(rooms).toEqual([1])
  })

  it('gives up at its close what cannot be sent', async () => {
    const { reports } = await setUp(() => undefined)
    const acknowledged = reports.ack('x')
    expect(await reports.close(50)).toBe(1)
    // Its connection is still there: it gives up when that ends, or refuses.
    void acknowledged.catch(() => {})
  })
})
