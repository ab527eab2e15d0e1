/** Control sockets between nodes and operators, over real sockets. */
import { chmodSync, lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ControlSocket } from '../../../src/node/control/control-socket.js'
import type { Command } from '../../../src/runtime/report/commands.js'
import type { FarmEvent } from '../../../src/runtime/report/report.js'
import { MAX_SOCKET_PATH } from '../../../src/util/socket-path.js'
import { until } from '../../fixtures/until.js'
import { answersTo, entriesBeside, FOREVER, newFile, operator, startNode, startOther } from './nodes.js'

const done = async (command: Command): Promise<unknown> => ({ did: command.command })

describe('commands', () => {
  it('reach all nodes, or those that are named, also two of one process', async () => {
    const file = newFile()
    await startNode(file, 'alpha', done)
    await startNode(file, 'beta', done)
    const client = operator(file)
    const [alpha, beta] = ['alpha', 'beta'].map((node) => ({ node, ok: true, value: { did: 'ping' } }))
    expect(await answersTo(client, 'all', { command: 'ping' })).toEqual([alpha, beta])
    expect(await answersTo(client, ['beta'], { command: 'ping' })).toEqual([beta])
    expect(await answersTo(client, [], { command: 'ping' })).toEqual([])
  })

  it('carry answers of the size of a profile', async () => {
    const file = newFile()
    const value = { worker: 1, profile: 'ü'.repeat(2_000_000) }
    await startNode(file, 'alpha', async () => value)
    expect(await answersTo(operator(file), 'all', { command: 'profile', worker: 1 })).toEqual([{ node: 'alpha', ok: true, value }])
  })

  it('end at once where a node is not there, and where none is', async () => {
    const file = newFile()
    const client = operator(file)
    expect(await answersTo(client, 'all', { command: 'ping' })).toEqual([])
    await startNode(file, 'alpha', done)
    expect(await answersTo(client, ['alpha', 'gone'], { command: 'ping' })).toMatchObject([{ node: 'alpha' }])
  })

  it('are refused with the reason, and while the node starts', async () => {
    const file = newFile()
    await startNode(file, 'alpha', async () => {
      throw new TypeError("There is no command 'pong'.")
    })
    await startNode(file, 'beta')
    expect(await answersTo(operator(file), 'all', { command: 'pong' } as never)).toEqual([
      { node: 'alpha', ok: false, error: "There is no command 'pong'." },
      { node: 'beta', ok: false, error: 'The node is starting and takes no commands yet.' },
    ])
  })

  it('do not wait for a dead node, and remove its socket', async () => {
    const file = newFile()
    const { path, die } = await startOther(file, () => {})
    await startNode(file, 'alpha', done)
    await die()
    expect(lstatSync(path).isSocket()).toBe(true)
    expect(await answersTo(operator(file), 'all', { command: 'ping' })).toMatchObject([{ node: 'alpha' }])
    expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined()
  })

  it('do not wait for a node that dies meanwhile', async () => {
    const file = newFile()
    const other = await startOther(file, (socket) => socket.on('data', () => void other.die()))
    expect(await answersTo(operator(file), 'all', { command: 'ping' })).toEqual([])
  })

  it('do not wait for a node that dies with the request unread', async () => {
    const file = newFile()
    const other = await startOther(file, (socket) => {
      socket.pause()
      setImmediate(() => void other.die())
    })
    expect(await answersTo(operator(file), 'all', { command: 'ping' })).toEqual([])
  })

  it('leave no connection behind when their answers are not taken', async () => {
    const file = newFile()
    let connections = 0
    await startOther(file, (socket) => {
      connections++
      socket.on('close', () => connections--)
    })
    await startNode(file, 'alpha', done)
    const client = operator(file)
    await client.ask('all', { command: 'ping' }, { timeout: 20 }).next()
    await until('its time is over', () => connections === 0)
    await client.ask('all', { command: 'ping' }, { timeout: FOREVER }).next()
    expect(connections).toBe(1)
    await client.close()
    await until('the client is closed', () => connections === 0)
  })

  it('are refused when they are longer than what a node reads', async () => {
    const file = newFile()
    await startNode(file, 'alpha', done)
    const ask = (length: number) => answersTo(operator(file), 'all', { command: 'x'.repeat(length) } as never)
    const rest = '{"to":"all","command":{"command":""}}'.length
    expect(await ask(65_536 - rest)).toMatchObject([{ ok: true }])
    await expect(ask(65_537 - rest)).rejects.toThrow("Option 'command' must have at most 65536 bytes of JSON, together with the names of nodes; it has 65537")
  })

  it('wait for a node that is silent until the time is over, and count it', async () => {
    const file = newFile()
    await startOther(file, () => {})
    await startNode(file, 'alpha', done)
    expect(await answersTo(operator(file), 'all', { command: 'ping' }, 1_000)).toMatchObject([{ node: 'alpha' }])
    const asked = operator(file).ask('all', { command: 'ping' }, { timeout: 1_000 })
    expect([await asked.next(), await asked.next()]).toMatchObject([{ value: { node: 'alpha' } }, { done: true, value: 1 }])
  })

  it('are checked before they are sent, and refused by a client that is closed', async () => {
    const client = operator(newFile())
    expect(() => client.ask('alpha' as never, { command: 'ping' })).toThrow("Option 'to' must be an array of the names of nodes, ['alpha'], or 'all'")
    expect(() => client.ask('all', 'ping' as never)).toThrow("Option 'command' must be an object, as in { command: 'ping' }")
    await expect(client.listen('x' as never)).rejects.toThrow('client.listen(listener): the listener must be a function.')
    await client.close()
    const closed = { code: 'ERR_PREFORK_CONTROL', message: expect.stringContaining('the control client is closed') }
    await expect(answersTo(client, 'all', { command: 'ping' })).rejects.toMatchObject(closed)
    await expect(client.listen(() => {})).rejects.toMatchObject(closed)
  })

  it('end when the client is closed', async () => {
    const file = newFile()
    await startOther(file, () => {})
    const client = operator(file)
    const asked = answersTo(client, 'all', { command: 'ping' })
    await new Promise(setImmediate)
    await client.close()
    expect(await asked).toEqual([])
  })
})

describe('a socket', () => {
  it('lies beside the file, for its owner alone whatever the umask, and goes with its node', async () => {
    const file = newFile()
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const { control, warnings } = await startNode(file, 'alpha', done)
    expect(entriesBeside(file)).toEqual([expect.stringMatching(/^jobs\.db-[0-9a-f]{12}\.ctl$/)])
    const stat = lstatSync(join(dirname(file), entriesBeside(file)[0]!))
    expect([stat.isSocket(), stat.mode & 0o777]).toEqual([true, 0o600])
    await control.close()
    expect([entriesBeside(file), warnings]).toEqual([[], []])
  })

  it.skipIf(process.getuid?.() !== 0)('cannot be connected to by another user, who is told so', async () => {
    const file = newFile()
    await startNode(file, 'alpha', done)
    chmodSync(dirname(file), 0o755)
    const client = operator(file)
    const refused = { code: 'ERR_PREFORK_CONTROL', message: `The nodes at ${file} cannot be asked: they belong to another user.` }
    process.seteuid!(65_534)
    try {
      await expect(answersTo(client, 'all', { command: 'ping' })).rejects.toMatchObject(refused)
      await expect(client.listen(() => {})).rejects.toMatchObject(refused)
    } finally {
      process.seteuid!(0)
    }
    expect(await answersTo(client, 'all', { command: 'ping' })).toMatchObject([{ node: 'alpha', ok: true }])
  })

  it('lies in a private folder where its path would be too long, with a link beside the file', async () => {
    const file = newFile('d'.repeat(MAX_SOCKET_PATH))
    const { control } = await startNode(file, 'alpha', done)
    const link = join(dirname(file), entriesBeside(file)[0]!)
    const path = readlinkSync(link)
    expect([lstatSync(path).mode & 0o777, lstatSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700])
    expect(await answersTo(operator(file), 'all', { command: 'ping' })).toMatchObject([{ node: 'alpha', ok: true }])
    rmSync(path)
    expect(await answersTo(operator(file), 'all', { command: 'ping' })).toEqual([])
    expect(entriesBeside(file)).toEqual([])
    await control.close()
  })

  it('that cannot be made is a warning, and the node goes on', async () => {
    const file = newFile()
    const { control, warnings } = await startNode(join(dirname(file), 'gone', 'jobs.db'), 'alpha', done)
    expect(warnings).toEqual([expect.stringContaining('as it has no control socket')])
    expect(await control.command({ command: 'ping' })).toEqual({ did: 'ping' })
    await control.askNodes({ command: 'revocations', node: 'alpha' }, () => {}, 60_000)
    control.tellNodes({ command: 'revocation_spent', id: 'x', node: 'alpha' })
  })

  it('is found by a link, which leads to no other file', async () => {
    const file = newFile()
    const other = join(dirname(file), 'other.sock')
    const { path, die } = await startOther(file, () => {})
    await die()
    renameSync(path, other)
    const link = `${file}-0123456789ab.ctl`
    symlinkSync(other, link)
    expect(await answersTo(operator(file), 'all', { command: 'ping' })).toEqual([])
    expect(lstatSync(other).isSocket()).toBe(true)
  })

  it('is gone when its node is closed while it opens', async () => {
    const file = newFile()
    const control = new ControlSocket('alpha', () => {})
    const opened = control.open(file)
    await control.close()
    await opened
    expect(entriesBeside(file)).toEqual([])
  })

  it('is not opened by a node that was closed before', async () => {
    const file = newFile()
    const { control } = await startNode(file, 'alpha')
    await control.close()
    await control.open(file)
    expect(entriesBeside(file)).toEqual([])
  })
})

describe('events', () => {
  const up = (worker: number): FarmEvent => ({ type: 'worker.up', worker, pid: 1, node: 'alpha', at: 1 })
  /** What a node sends first, and an event. */
  const GREETING = `{"node":"alpha"}\n${JSON.stringify([up(1)])}\n`

  it('go to who listens, of nodes that come later too, and to nobody else', async () => {
    const file = newFile()
    const { control } = await startNode(file, 'alpha', done)
    expect(control.heard).toBe(false)
    control.emit(up(1))
    const heard: FarmEvent[] = []
    const stop = await operator(file).listen((event) => heard.push(event))
    await until('it is listened to', () => control.heard)
    control.emit(up(2))
    control.emit(up(3))
    await until('two events', () => heard.length === 2)
    expect(heard).toEqual([up(2), up(3)])
    const later = await startNode(file, 'beta', done)
    await until('the later one is listened to', () => later.control.heard)
    later.control.emit({ ...up(4), node: 'beta' })
    await until('its event', () => heard.length === 3)
    await stop()
    await until('nobody listens', () => !control.heard && !later.control.heard)
  })

  it('that were emitted before the end still arrive', async () => {
    const file = newFile()
    const { control } = await startNode(file, 'alpha', done)
    const heard: FarmEvent[] = []
    await operator(file).listen((event) => heard.push(event))
    await until('it is listened to', () => control.heard)
    const down: FarmEvent = { type: 'node.down', reason: 'a command', node: 'alpha', at: 1 }
    control.emit(down)
    await control.close()
    await until('it has arrived', () => heard.length > 0)
    expect(heard).toEqual([down])
  })

  it('say once that a node is down', async () => {
    const file = newFile()
    const down: FarmEvent = { type: 'node.down', reason: 'a command', node: 'alpha', at: 1 }
    let end = (): void => {}
    const { path, stopListening } = await startOther(file, (socket) => {
      socket.write(GREETING)
      end = () => void socket.end(`${JSON.stringify([down])}\n`)
    })
    const heard: FarmEvent[] = []
    await operator(file).listen((event) => heard.push(event))
    await until('it is listened to', () => heard.length > 0)
    const stopped = stopListening()
    end()
    await stopped
    // It is found to be dead, and has said so before.
    await until('its socket is gone', () => lstatSync(path, { throwIfNoEntry: false }) === undefined)
    expect(heard).toEqual([up(1), down])
  })

  it('say that a node is down whose process has died', async () => {
    const file = newFile()
    const { die, path } = await startOther(file, (socket) => socket.write(GREETING))
    const heard: FarmEvent[] = []
    await operator(file).listen((event) => heard.push(event))
    await until('it is listened to', () => heard.length > 0)
    await die()
    await until('it is down', () => heard.length > 1)
    expect(heard.slice(1)).toEqual([{ type: 'node.down', node: 'alpha', at: expect.any(Number), reason: 'its process has died' }])
    await until('its socket is gone', () => lstatSync(path, { throwIfNoEntry: false }) === undefined)
  })
})

describe('nodes among each other', () => {
  const asked = { command: 'revocations', node: 'alpha' } as const

  it('are told and asked, the one that asks left out', async () => {
    const file = newFile()
    const commands: unknown[] = []
    const handler =
      (name: string) =>
      async (command: Command): Promise<unknown> =>
        commands.push([name, command])
    const { control } = await startNode(file, 'alpha', handler('alpha'))
    await control.askNodes(asked, () => commands.push('an answer'), 60_000)
    expect(commands).toEqual([])
    await startNode(file, 'beta', handler('beta'))
    await startNode(file, 'gamma')
    const answers: unknown[] = []
    await control.askNodes(asked, (answer) => answers.push(answer), 60_000)
    expect([commands, answers]).toEqual([[['beta', asked]], [1]])
    const spent = { command: 'revocation_spent', id: 'x', node: 'alpha' } as const
    control.tellNodes(spent)
    await until('it is told', () => commands.length === 2)
    expect(commands[1]).toEqual(['beta', spent])
  })

  it('are waited for until the time is over; an answer that comes later counts', async () => {
    const file = newFile()
    let answer: (() => void) | undefined
    await startOther(file, (socket) => {
      answer = () => void socket.end('{"node":"beta","ok":true,"value":7}\n')
    })
    const { control } = await startNode(file, 'alpha', done)
    const answers: unknown[] = []
    await control.askNodes(asked, (value) => answers.push(value), 20)
    expect(answers).toEqual([])
    // On a busy machine, after the time.
    const late = await until('it was asked', () => answer)
    late()
    await until('it has come', () => answers.length === 1)
  })

  it('of the same name are a warning', async () => {
    const file = newFile()
    await startNode(file, 'alpha', done)
    const { control, warnings } = await startNode(file, 'alpha', done)
    await control.askNodes(asked, () => {}, 60_000)
    expect(warnings).toEqual([expect.stringContaining("Another node is named 'alpha' as well")])
  })
})
