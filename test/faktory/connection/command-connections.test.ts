import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CommandConnections } from '../../../src/faktory/connection/command-connections.js'
import { endpointOf } from '../../../src/faktory/options.js'
import { failure, until } from '../../fixtures/support.js'
import { lineServer } from './line-server.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('CommandConnections', () => {
  const unreachable = (maxWaiting: number): CommandConnections => {
    const commands = new CommandConnections({ ...endpointOf({ url: 'tcp://127.0.0.1:1', tls: undefined }), connections: 1, maxWaiting, warn: () => {} })
    commands.start().catch(() => {})
    onTestFinished(() => commands.close())
    return commands
  }

  it('keeps nothing of a command that was not sent in time', async () => {
    const commands = unreachable(1_000)
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let round = 0; round < 10; round++) {
      const text = (index: number): string => JSON.stringify({ round, index, pad: 'x'.repeat(20_000) })
      await Promise.all(Array.from({ length: 200 }, (_, index) => failure(commands.command('PUSH', text(index), { timeout: 20 }))))
    }
    collectGarbage()
    // 40 MB were given.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6)
  })

  it('has one time to be sent and answered, where it is asked for', async () => {
    const { url, lines } = await lineServer({ answer: (line) => (line.startsWith('HELLO') ? '+OK\r\n' : undefined) })
    const commands = new CommandConnections({ ...endpointOf({ url, tls: undefined }), connections: 1, maxWaiting: 9, warn: () => {} })
    onTestFinished(() => commands.close(0))
    const begun = performance.now()
    const waiting = failure(commands.commandWithin('PUSH', '{}', 1_000.4))
    setTimeout(() => commands.start().catch(() => {}), 500)
    expect(await waiting).toMatchObject({ sent: true, message: expect.stringContaining('within 1000 ms') })
    expect(lines).toContain('PUSH {}')
    // 1,500 if it had its time again.
    expect(performance.now() - begun).toBeLessThan(1_400)
    const unsent = unreachable(9)
    expect(await failure(unsent.commandWithin('PUSH', '{}', 30.7))).toMatchObject({ sent: false, message: expect.stringContaining('for 31 ms') })
  })

  it('opens another connection when commands wait for each other, and goes on without one that is refused', async () => {
    let refused = 0
    let hellos = 0
    const answer = (line: string): string | undefined => {
      if (!line.startsWith('HELLO')) return undefined
      if (++hellos !== 2) return '+OK\r\n'
      refused++
      return '-ERR too many connections\r\n'
    }
    const { url, lines } = await lineServer({ answer })
    const warned: Error[] = []
    const commands = new CommandConnections({ ...endpointOf({ url, tls: undefined }), connections: 2, maxWaiting: 9, warn: () => {} })
    commands.on('retry', (error) => warned.push(error))
    onTestFinished(() => commands.close(0))
    await commands.start()
    const send = (count: number): void => {
      for (let each = 0; each < count; each++) commands.command('ACK', '{}').catch(() => {})
    }
    const sent = (count: number): Promise<unknown> => until(`${count} are sent`, () => lines.filter((line) => line.startsWith('ACK')).length === count)
    send(2)
    await sent(2)
    expect(hellos).toBe(1)
    send(1)
    await until('another has connected', () => hellos === 3)
    expect([refused, warned, commands.connected]).toEqual([1, [], true])
    send(9)
    await sent(12)
    expect(hellos).toBe(3)
  })

  /** Two connections, each idle, and the sockets of the server that answer nothing. */
  const twoConnections = async () => {
    const hellos: Socket[] = []
    const silent = new Set<Socket>()
    let held = 3
    const answer = (line: string, socket: Socket): string | undefined => {
      if (line.startsWith('HELLO')) hellos.push(socket)
      else if (held > 0) {
        held--
        return undefined
      }
      return silent.has(socket) ? undefined : '+OK\r\n'
    }
    const { url } = await lineServer({ answer })
    const commands = new CommandConnections({ ...endpointOf({ url, tls: undefined }), connections: 2, maxWaiting: 9, warn: () => {} })
    onTestFinished(() => commands.close(0))
    await commands.start()
    // More commands wait for their answers than one connection is to have.
    const first = ['a', 'b', 'c'].map((jid) => commands.command('ACK', jid))
    await until('they are sent, and another has connected', () => held === 0 && hellos.length === 2)
    hellos[0]!.write('+OK\r\n'.repeat(3))
    await Promise.all(first)
    return { commands, hellos, silent }
  }

  it('makes others anew that are silent for as long as one that is given up: a command does not wait on each of them', async () => {
    const { commands, hellos, silent } = await twoConnections()
    for (const socket of hellos) silent.add(socket)
    expect(await failure(commands.command('FAIL', '{}', { timeout: 200 }))).toMatchObject({ sent: true })
    expect(await commands.command('FAIL', '{}', { timeout: 30_000 })).toBe('OK')
    await until('both are there again', () => hellos.length === 4)
  })

  it('keeps one on which something has come since the command that was not answered', async () => {
    const { commands, hellos, silent } = await twoConnections()
    silent.add(hellos[0]!)
    const lost = failure(commands.command('FAIL', '{}', { timeout: 500 }))
    expect(await commands.command('FAIL', '{}')).toBe('OK')
    expect(await lost).toMatchObject({ sent: true })
    await until('the first is there again', () => hellos.length === 3)
    expect(await commands.command('FAIL', '{}')).toBe('OK')
    expect(hellos.map((socket) => socket.destroyed || socket.readableEnded).slice(1)).toEqual([false, false])
  })

  it('refuses a command when too many wait, and takes others when those are over', async () => {
    const commands = unreachable(2)
    const first = [1, 2].map((nth) => failure(commands.command('PUSH', String(nth), { timeout: 50 })))
    expect(await failure(commands.command('PUSH', '3', { timeout: 50 }))).toMatchObject({
      name: 'BrokerError',
      message: expect.stringContaining('2 commands wait'),
    })
    for (const each of await Promise.all(first)) expect(each).toMatchObject({ sent: false, message: expect.stringContaining('no connection for 50 ms') })
    expect(await failure(commands.command('PUSH', '4', { timeout: 1 }))).toMatchObject({ name: 'ConnectionLostError' })
  })
})
