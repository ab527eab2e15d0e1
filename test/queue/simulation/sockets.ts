/** The unix sockets of simulated processes, beneath the store's own code: a socket file outlives its process, and refuses then. */
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { contexts } from './clock.js'

/** A process, as far as its sockets go. */
export interface SocketOwner {
  readonly alive: boolean
  /** Its sockets accept nothing and refuse nothing. */
  readonly silent: boolean
  /** False: it cannot make a socket. */
  readonly listens: boolean
  after(ms: number, fn: () => void): void
  /** Called at its death. */
  readonly atDeath: Set<() => void>
}

const LATENCY = 0.1

const owner = (): SocketOwner => contexts.getStore() as unknown as SocketOwner

class SimSocket extends EventEmitter {
  readonly writableLength = 0
  readonly process: SocketOwner
  other: SimSocket | undefined
  #closed = false
  readonly #atDeath = (): void => this.#close()

  constructor(process: SocketOwner) {
    super()
    this.process = process
    process.atDeath.add(this.#atDeath)
  }

  setEncoding(): this {
    return this
  }

  resume(): this {
    return this
  }

  write(text: string): void {
    const { other } = this
    if (!this.#closed) other?.process.after(LATENCY, () => other.emit('data', text))
  }

  destroy(): void {
    this.#close()
    this.process.after(LATENCY, () => this.emit('close'))
  }

  fail(code: string): void {
    this.emit('error', Object.assign(new Error(code), { code }))
    this.destroy()
  }

  /** The other end learns of it. */
  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.process.atDeath.delete(this.#atDeath)
    const { other } = this
    other?.process.after(LATENCY, () => {
      if (other.#closed) return
      other.#close()
      other.emit('close')
    })
  }
}

interface Listener {
  listening: boolean
  readonly process: SocketOwner
  readonly accept: (socket: SimSocket) => void
}

/** By path. */
const files = new Map<string, Listener>()

class SimServer extends EventEmitter {
  readonly #accept: (socket: SimSocket) => void
  #listener: Listener | undefined

  constructor(accept: (socket: SimSocket) => void) {
    super()
    this.#accept = accept
  }

  get listening(): boolean {
    return this.#listener?.listening === true
  }

  listen(path: string, done: () => void): this {
    const process = owner()
    if (!process.listens) {
      process.after(LATENCY, () => this.emit('error', new Error('EACCES')))
      return this
    }
    const listener: Listener = { listening: true, process, accept: this.#accept }
    this.#listener = listener
    files.set(path, listener)
    process.atDeath.add(() => {
      listener.listening = false
    })
    process.after(LATENCY, done)
    return this
  }

  close(): void {
    if (this.#listener !== undefined) this.#listener.listening = false
  }
}

const connect = (path: string): SimSocket => {
  const socket = new SimSocket(owner())
  socket.process.after(LATENCY, () => {
    const listener = files.get(path)
    if (listener === undefined) socket.fail('ENOENT')
    else if (!listener.listening) socket.fail('ECONNREFUSED')
    else if (listener.process.silent) socket.fail('EAGAIN')
    else {
      const accepted = new SimSocket(listener.process)
      accepted.other = socket
      socket.other = accepted
      listener.process.after(0, () => listener.accept(accepted))
      socket.emit('connect')
    }
  })
  return socket
}

const isSocket = (path: unknown): path is string => typeof path === 'string' && /\.(sock|bind)$/.test(path)

/** Replaces what the store asks of sockets and their files, once. Other files are real. */
export const installSockets = (): void => {
  const { chmodSync, renameSync, rmSync } = fs
  const replace = net as unknown as Record<string, unknown>
  replace.connect = connect
  replace.createServer = (accept: (socket: SimSocket) => void) => new SimServer(accept)
  fs.chmodSync = (path, mode) => {
    if (!isSocket(path)) chmodSync(path, mode)
  }
  fs.renameSync = (from, to) => {
    if (!isSocket(from)) return renameSync(from, to)
    files.set(to as string, files.get(from)!)
    files.delete(from)
  }
  fs.rmSync = (path, options) => {
    if (!isSocket(path)) rmSync(path, options)
    else files.delete(path)
  }
  syncBuiltinESMExports()
}

/** Those of an earlier run. */
export const forgetSockets = (): void => files.clear()
