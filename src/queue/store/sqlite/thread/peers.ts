import { chmodSync, renameSync, rmSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { boundPath, newSocketName, socketPath } from '../../../../util/socket-path.js'
import type { StoreEvent } from '../../store.js'
import type { SessionRow } from '../engine/sessions.js'

/** What processes on one file tell each other. It is best effort: the file is the truth. */
export type PeerMessage =
  /** There may be something to claim. */
  | { readonly kind: 'work' }
  /** Somebody cancels a job that is claimed. */
  | { readonly kind: 'cancel' }
  /** The settings of a queue have changed. */
  | { readonly kind: 'settings' }
  /** The list of sessions has changed. */
  | { readonly kind: 'sessions' }
  | { readonly kind: 'events'; readonly events: readonly StoreEvent[] }

interface PeerEvents {
  onMessage(message: PeerMessage): void
  /** Nobody listens on this socket any more: its process is dead. */
  onDead(name: string): void
}

/** A peer that does not read gets nothing more, bytes. */
const MAX_UNREAD = 1024 * 1024

interface Peer {
  readonly socket: Socket
  watches: boolean
}

/** The sockets of the processes on one file: its own, and a connection to each other one, whose end is the first sign of a death. */
export class Peers {
  readonly #database: string
  readonly #events: PeerEvents
  readonly #peers = new Map<string, Peer>()
  /** Connections that others have made to this process. */
  readonly #accepted = new Set<Socket>()
  #server: Server | undefined
  #listening: Promise<void> | undefined
  #name: string | undefined

  constructor(database: string, events: PeerEvents) {
    this.#database = database
    this.#events = events
  }

  /** The name of this process's own socket; undefined: it has none. */
  get name(): string | undefined {
    return this.#name
  }

  get path(): string | undefined {
    return this.#name === undefined ? undefined : socketPath(this.#database, this.#name)
  }

  get someWatch(): boolean {
    for (const { watches } of this.#peers.values()) if (watches) return true
    return false
  }

  /** Listens. Without a socket, this process is woken by its polls, and its death is seen by its beat. */
  listen(): Promise<void> {
    this.#listening ??= this.#listen()
    return this.#listening
  }

  async #listen(): Promise<void> {
    const name = newSocketName(this.#database)
    if (name === undefined) return
    const server = createServer((socket) => this.#accept(socket))
    this.#server = server
    const path = socketPath(this.#database, name)
    const bound = boundPath(path)
    const isListening = await new Promise<boolean>((resolve) => {
      server.on('error', () => resolve(false)).listen(bound, () => resolve(true))
    })
    if (!isListening || !server.listening) return
    chmodSync(bound, 0o600)
    // libuv removes the path that it has bound, also when the process dies by an exception: what is renamed stays, and shows that nobody listens.
    renameSync(bound, path)
    this.#name = name
  }

  /** A connection that is open would keep the thread from its end. */
  #accept(socket: Socket): void {
    this.#accepted.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => this.#accepted.delete(socket))
    this.#read(socket)
  }

  /** Connects to those that are new, and leaves those that are gone. */
  update(rows: readonly SessionRow[]): void {
    const watching = new Map<string, boolean>()
    for (const { socket, watches } of rows) {
      if (socket !== null && socket !== this.#name) watching.set(socket, (watching.get(socket) ?? false) || watches === 1)
    }
    for (const [name, { socket }] of this.#peers) {
      if (watching.has(name)) continue
      this.#peers.delete(name)
      socket.destroy()
    }
    for (const [name, watches] of watching) {
      const peer = this.#peers.get(name)
      if (peer === undefined) this.#connect(name, watches)
      else peer.watches = watches
    }
  }

  send(message: PeerMessage): void {
    if (this.#peers.size === 0) return
    const line = `${JSON.stringify(message)}\n`
    for (const { socket, watches } of this.#peers.values()) {
      if (message.kind === 'events' && !watches) continue
      if (socket.writableLength <= MAX_UNREAD) socket.write(line)
    }
  }

  /**
   * Removes the sockets of dead processes that no session names: they were killed before they had one, or after their last one was given back.
   *
   * @param named the sockets that the sessions name
   */
  async removeDead(named: () => ReadonlySet<string | null> | undefined): Promise<void> {
    const own = this.#name
    if (own === undefined) return
    const folder = dirname(socketPath(this.#database, own))
    const ending = /[0-9a-f]{12}\.sock$/
    const before = basename(own).replace(ending, '')
    // After `close` nothing is read from the file.
    const isUnnamed = (name: string): boolean => this.#server?.listening === true && named()?.has(name) === false
    for (const entry of await readdir(folder)) {
      const name: string = isAbsolute(own) ? join(folder, entry) : entry
      if (name === own || entry.replace(ending, '') !== before) continue
      // The sockets of sessions are looked at in any case. A process listens on its socket before it has the path, and has it before its first session.
      if (isUnnamed(name) && (await isDeadSocket(join(folder, entry))) && isUnnamed(name)) this.forget(name)
    }
  }

  /** Removes the socket of a process that is dead. */
  forget(name: string): void {
    rmSync(socketPath(this.#database, name), { force: true })
  }

  /** `keepSocket`: a session is left behind. Its socket, on which nobody listens, shows others that it is dead. */
  close(keepSocket: boolean): void {
    for (const { socket } of this.#peers.values()) socket.destroy()
    this.#peers.clear()
    this.#server?.close()
    for (const socket of this.#accepted) socket.destroy()
    if (!keepSocket && this.#name !== undefined) this.forget(this.#name)
  }

  #connect(name: string, watches: boolean): void {
    const socket = connect(socketPath(this.#database, name))
    const peer: Peer = { socket, watches }
    this.#peers.set(name, peer)
    let wasConnected = false
    let isDead = false
    socket.on('connect', () => {
      wasConnected = true
      socket.write(`${JSON.stringify({ kind: 'sessions' } satisfies PeerMessage)}\n`)
    })
    // Any other error says nothing: the next look at the list tries again, and the beat decides.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      isDead = error.code === 'ECONNREFUSED'
    })
    socket.on('close', () => {
      if (this.#peers.get(name) !== peer) return
      this.#peers.delete(name)
      if (isDead) this.#events.onDead(name)
      // Its process has ended, or closed its store: the answer comes at once.
      else if (wasConnected) this.#connect(name, watches)
    })
    socket.resume()
  }

  #read(socket: Socket): void {
    let rest = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) this.#take(line)
      if (rest.length > MAX_UNREAD) socket.destroy()
    })
  }

  #take(line: string): void {
    let message: PeerMessage | null
    try {
      message = JSON.parse(line) as PeerMessage | null
    } catch {
      return
    }
    if (typeof message === 'object' && message !== null) this.#events.onMessage(message)
  }
}

/** It is a socket, and nobody listens on it. */
const isDeadSocket = async (path: string): Promise<boolean> => {
  const stat = await lstat(path).catch(() => undefined)
  if (stat?.isSocket() !== true) return false
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.destroy())
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED')).on('close', () => resolve(false))
  })
}
