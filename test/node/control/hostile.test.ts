/** Who connects to the socket of a node may be slow, or send anything: the node goes on, and holds a bounded amount for it. */
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { FarmEvent } from '../../../src/runtime/report/report.js'
import { fakeTime } from '../../fixtures/fake-time.js'
import { until } from '../../fixtures/until.js'
import { answersTo, connectTo, newFile, operator, startNode, startOther } from './nodes.js'

const pong = async (): Promise<unknown> => 'pong'
const PING = '{"to":"all","command":{"command":"ping"}}\n'
const answered = async (file: string): Promise<void> => expect(await answersTo(operator(file), 'all', { command: 'ping' })).toMatchObject([{ ok: true }])

const fakeTimeouts = (): void => fakeTime('setTimeout', 'clearTimeout')
/** Waits without a timer. */
const turns = async (over: () => boolean): Promise<void> => {
  while (!over()) await new Promise(setImmediate)
}

it.each([
  ['no JSON', 'hello\n', /^\{"node":"alpha","ok":false,"error":"This is no request\. A command is a line such as /],
  ['no command', '{"to":"all"}\n', /This is no request/],
  ['no address', '{"command":{"command":"ping"}}\n', /This is no request/],
  ['a line that is too long', 'x'.repeat(70_000), /A request has at most 65536 bytes/],
])('%s is refused with the reason, and the connection ends', async (_, text, reason) => {
  const file = newFile()
  await startNode(file, 'alpha', pong)
  const { socket, read, readAll } = await connectTo(file)
  readAll()
  socket.write(text)
  await until('it is closed', () => read.isClosed)
  expect(read.text).toMatch(reason)
  await answered(file)
})

it('a command is executed once, whatever follows it, and a flood behind it ends the connection', async () => {
  const file = newFile()
  let runs = 0
  const wait = new Promise(() => {})
  await startNode(file, 'alpha', async ({ command }) => {
    runs++
    return command === 'stats' ? await wait : 'pong'
  })
  const { socket, read, readAll } = await connectTo(file)
  readAll()
  socket.write(`${PING}${PING}${PING}`)
  await until('it is closed', () => read.isClosed)
  expect([runs, read.text]).toEqual([1, '{"node":"alpha","ok":true,"value":"pong"}\n'])
  const flood = await connectTo(file)
  flood.socket.write('{"to":"all","command":{"command":"stats"}}\n')
  const timer = setInterval(() => flood.socket.write('x\n'.repeat(10_000)), 1)
  onTestFinished(() => clearInterval(timer))
  flood.readAll()
  await until('it is closed', () => flood.read.isClosed)
})

it('a listener that does not read is disconnected, and others get the events', async () => {
  const file = newFile()
  const { control } = await startNode(file, 'alpha', pong)
  const slow = await connectTo(file)
  slow.socket.write('{"listen":true}\n')
  await until('it listens', () => control.heard)
  const value = 'x'.repeat(4_000)
  const heard: FarmEvent[] = []
  let others = false
  const stop = await operator(file).listen((event) => {
    if (event.type === 'task.progress') heard.push(event)
    else others = true
  })
  await until('another one listens', () => {
    control.emit({ type: 'worker.up', worker: 1, pid: 1, node: 'alpha', at: 1 })
    return others
  })
  for (let sent = 0; sent < 2_500; sent += 500) {
    for (let i = 0; i < 500; i++) control.emit({ type: 'task.progress', id: `${sent + i}`, name: 'a', worker: 1, value, node: 'alpha', at: 1 })
    await until('the others have read', () => heard.length === sent + 500)
  }
  await stop()
  // The slow one is not among the listeners any more.
  await until('nobody listens', () => !control.heard)
  slow.readAll()
  await until('it is closed', () => slow.read.isClosed)
})

it('answers that nobody reads are bounded, over all connections', async () => {
  // However slow the machine is, they are not given up meanwhile.
  fakeTimeouts()
  const file = newFile()
  const value = 'x'.repeat(30 * 1_048_576)
  await startNode(file, 'alpha', async ({ command }) => (command === 'snapshot' ? value : 'pong'))
  const ask = async () => {
    const connection = await connectTo(file)
    connection.socket.pause()
    connection.socket.write('{"to":"all","command":{"command":"snapshot"}}\n')
    return connection
  }
  // Each is asked after the one before it was answered: an answer begins to arrive.
  const first = await ask()
  await new Promise((resolve) => first.socket.once('readable', resolve))
  const second = await ask()
  await new Promise((resolve) => second.socket.once('readable', resolve))
  const third = await connectTo(file)
  third.readAll()
  third.socket.write('{"to":"all","command":{"command":"snapshot"}}\n')
  await turns(() => third.read.isClosed)
  expect(third.read.text).toContain('"ok":false,"error":"The answer is too large, beside those that others do not read')
  await answered(file)
})

it('connections are bounded, and end without a request', async () => {
  fakeTimeouts()
  const file = newFile()
  await startNode(file, 'alpha', pong)
  const idle = await Promise.all(Array.from({ length: 64 }, () => connectTo(file)))
  const refused = await connectTo(file)
  refused.readAll()
  await turns(() => refused.read.isClosed)
  expect(idle.some(({ read }) => read.isClosed)).toBe(false)
  for (const { readAll } of idle) readAll()
  vi.advanceTimersByTime(10_000)
  await turns(() => idle.every(({ read }) => read.isClosed))
  vi.useRealTimers()
  await answered(file)
})

it('listeners are bounded', async () => {
  const file = newFile()
  const { control } = await startNode(file, 'alpha', pong)
  const all = await Promise.all(Array.from({ length: 17 }, () => connectTo(file)))
  for (const { socket, readAll } of all) {
    readAll()
    socket.write('{"listen":true}\n')
  }
  await until('all have an answer', () => all.every(({ read }) => read.text.includes('\n')))
  expect(all.filter(({ read }) => read.text.includes('has 16 listeners already'))).toHaveLength(1)
  await expect(operator(file).listen(() => {})).rejects.toMatchObject({
    code: 'ERR_PREFORK_CONTROL',
    message: `The nodes at ${file} cannot be asked: The node has 16 listeners already.`,
  })
  expect(control.heard).toBe(true)
  await answered(file)
})

it('a node that ends each connection is not asked again and again', async () => {
  const file = newFile()
  let connections = 0
  await startOther(file, (socket) => {
    connections++
    socket.end('{"node":"alpha"}\n')
  })
  const stop = await operator(file).listen(() => {})
  // It would be asked many times in as many turns.
  for (let turn = 0; turn < 2_000; turn++) await new Promise(setImmediate)
  expect(connections).toBeLessThan(100)
  await stop()
})

it('a node that is silent is not connected to for good, whatever the garbage collector takes', async () => {
  fakeTimeouts()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const file = newFile()
  const open = new Set<Socket>()
  let asked = false
  await startOther(file, (socket) => {
    open.add(socket)
    socket
      .on('close', () => open.delete(socket))
      .on('data', () => {
        asked = true
      })
  })
  const { control } = await startNode(file, 'alpha', pong)
  control.tellNodes({ command: 'revocation_spent', id: 'x', node: 'alpha' })
  await turns(() => asked)
  collect()
  vi.advanceTimersByTime(10_000)
  await turns(() => open.size === 0)
})

it('an operator takes nothing from a process that is no node', async () => {
  const file = newFile()
  await startOther(file, (socket) => socket.end('nonsense\n'))
  await startNode(file, 'alpha', pong)
  const heard: FarmEvent[] = []
  const stop = await operator(file).listen((event) => heard.push(event))
  await answered(file)
  await stop()
  expect(heard).toEqual([])
})
