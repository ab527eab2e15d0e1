import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CommandConnections } from '../../../src/faktory/connection/command-connections.js'
import { endpointOf } from '../../../src/faktory/options.js'
import { Reports } from '../../../src/faktory/worker/reports.js'
import { failure, until } from '../../fixtures/support.js'
import { lineServer } from '../connection/line-server.js'

describe('Reports', () => {
  const setUp = async (
    answer: (line: string, nth: number) => string | undefined,
    { max = 10, shortestRetry }: { max?: number; shortestRetry?: number } = {},
  ) => {
    let nth = 0
    const server = await lineServer({ answer: (line) => (line.startsWith('HELLO') ? '+OK\r\n' : answer(line, ++nth)) })
    const commands = new CommandConnections({ ...endpointOf({ url: server.url, tls: undefined }), connections: 1, maxWaiting: 100, warn: () => {} })
    await commands.start()
    const rooms: number[] = []
    const reports = new Reports(commands, max, () => rooms.push(1), shortestRetry)
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

  it('kills a job among the retries, and again while that is refused for now', async () => {
    const { reports, sent } = await setUp((_line, nth) => (nth === 1 ? '-ERR shutdown in progress\r\n' : '+OK\r\n'))
    expect(await reports.kill({ jid: 'x', queue: 'q' })).toBe(true)
    const command = 'MUTATE {"cmd":"kill","target":"retries","filter":{"regexp":"*,\\"jid\\":\\"x\\",\\"queue\\":\\"q\\",\\"jobtype\\":*"}}'
    expect(sent('MUTATE')).toEqual([command, command])
    await expect(reports.kill({ jid: 'a b', queue: 'q' })).rejects.toThrow('must have no space')
  })

  it('gives a kill up when the server may have handed the job out again', async () => {
    const { reports } = await setUp(() => '-ERR shutdown in progress\r\n', { shortestRetry: 300 })
    expect(await reports.kill({ jid: 'x', queue: 'q' })).toBe(false)
  })

  it('sends again what was lost with its connection', async () => {
    const { reports, sent, server } = await setUp((_line, nth) => (nth === 1 ? undefined : '+OK\r\n'))
    const acknowledged = reports.ack('x')
    await until('it was sent', () => sent('ACK').length === 1)
    server.cut()
    expect(await acknowledged).toBe(true)
    expect(sent('ACK')).toHaveLength(2)
  })

  it('sends a FAIL whose answer was lost again only while the server cannot have handed the job out again', async () => {
    const { reports, sent, server, until: inTime } = await setUp(() => undefined, { shortestRetry: 300 })
    const failed = reports.fail('{"jid":"x"}', inTime())
    await until('it was sent', () => sent('FAIL').length === 1)
    await sleep(300)
    server.cut()
    expect(await failed).toBe(false)
    expect(sent('FAIL')).toHaveLength(1)
  })

  it('takes it for told when the server no longer knows the job of a FAIL whose answer was lost', async () => {
    const { reports, sent, server, until: inTime } = await setUp((_line, nth) => (nth === 1 ? undefined : '-ERR Job not found x\r\n'))
    const failed = reports.fail('{"jid":"x"}', inTime())
    await until('it was sent', () => sent('FAIL').length === 1)
    server.cut()
    expect(await failed).toBe(true)
    expect(sent('FAIL')).toHaveLength(2)
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
