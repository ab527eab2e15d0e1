/** Control sockets in a folder of a test. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ControlSocket } from '../../../src/node/control/control-socket.js'
import { SocketControlClient } from '../../../src/node/control/socket-client.js'
import type { Address, Answer, Command } from '../../../src/runtime/report/commands.js'

/** Longer than any test: who waits for it fails. */
export const FOREVER = 3_600_000

/** A file that nodes share, in a folder of its own. */
export const newFile = (...deeper: string[]): string => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'pf-ctl-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const file = join(root, ...deeper, 'jobs.db')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  return file
}

export const entriesBeside = (file: string): string[] => readdirSync(dirname(file)).filter((name) => name !== 'jobs.db')

export type Handler = (command: Command) => Promise<unknown>

/** A node's socket. Without a handler it is starting. */
export const startNode = async (file: string, name: string, handler?: Handler) => {
  const warnings: string[] = []
  const control = new ControlSocket(name, (message) => warnings.push(message))
  if (handler !== undefined) control.onCommand(handler)
  await control.open(file)
  onTestFinished(() => control.close())
  return { control, warnings }
}

export const operator = (file: string): SocketControlClient => {
  const client = new SocketControlClient(file)
  onTestFinished(() => client.close())
  return client
}

export const answersTo = async (client: SocketControlClient, to: Address, command: Command, timeout = FOREVER): Promise<Answer[]> => {
  const answers: Answer[] = []
  for await (const answer of client.ask(to, command, { timeout })) answers.push(answer)
  return answers.sort((a, b) => (a.node < b.node ? -1 : 1))
}

/** A process that is no node of ours: it does with each connection what the test says, and dies when the test says. */
export const startOther = async (file: string, serve: (socket: Socket) => void) => {
  const path = `${file}-0123456789ab.ctl`
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    // Unread, its end would not be seen.
    socket.resume()
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(`${path}.b`, resolve))
  renameSync(`${path}.b`, path)
  const stopListening = (): Promise<unknown> => new Promise((resolve) => server.close(resolve))
  const die = async (): Promise<void> => {
    const closed = stopListening()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  onTestFinished(die)
  return { path, die, stopListening }
}

/** A connection to the only node of a file, and what it has read. */
export const connectTo = async (file: string) => {
  const [name] = entriesBeside(file)
  const socket = connect(join(dirname(file), name!))
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const read = { text: '', isClosed: false }
  socket.on('close', () => {
    read.isClosed = true
  })
  await new Promise((resolve) => socket.on('connect', resolve))
  const readAll = (): void => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      read.text += text
    })
  }
  return { socket, read, readAll }
}
