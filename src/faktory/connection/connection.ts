import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { BrokerError, isClientRefused, reasonOf } from '../../node/connection/errors.js'
import { Deque } from '../../util/deque.js'
import { setImmediate } from '../../util/node-time.js'
import { deferred, withTimeout } from '../../util/with-timeout.js'
import { ConnectionLostError, FaktoryError } from '../errors.js'
import { helloOf, PROTOCOL_VERSION, readGreeting, type WorkerIdentity } from '../protocol/greeting.js'
import type { PasswordHashes } from '../protocol/password-hash.js'
import { isErrorReply, type Reply, ReplyParser, ReplySyntaxError } from '../protocol/reply-parser.js'
import { connectError, type Endpoint, notGreeted, openSocket } from './open-socket.js'
import { ReplyDeadline } from './reply-deadline.js'

export interface ConnectionSettings extends Endpoint {
  /** The hashes of the address' password. Undefined: it has none. */
  readonly hashes: PasswordHashes | undefined
  /** Of a worker; a producer has none. */
  readonly identity?: WorkerIdentity | undefined
  warn(message: string): void
}

/** ms to connect and to be greeted, each. */
const GREETING_TIMEOUT = 5_000
/** ms for the answer to HELLO. */
const HELLO_TIMEOUT = 5_000
/** ms that commands have to be answered when the connection ends, by default. A FETCH takes 2 s. */
const DRAIN_TIMEOUT = 3_000
/** ms that the server has to close after END, and those that it has when nothing is left of the time for the end. */
const END_TIMEOUT = 1_000
const LEAST_END_TIMEOUT = 50

export interface CommandOptions {
  /** ms from now. A connection that has not answered by then is closed, because no later answer could be told from this one. */
  readonly timeout: number
  /** Written in this call, not with what this turn still brings: for a connection that has one command at a time. */
  readonly atOnce?: boolean
}

interface PendingCommand {
  readonly verb: string
  /** ms on the monotonic clock. */
  readonly sentAt: number
  /** Time until which it must be answered, ms on the monotonic clock. */
  readonly deadline: number
  resolve(reply: string | null): void
  reject(error: Error): void
}

/**
 * One connection to the server: commands are written one after another, without waiting, and are answered in order. It is not restored when it
 * is lost: see ReconnectingConnection.
 */
export class FaktoryConnection extends EventEmitter<{ close: [error: Error] }> {
  readonly #socket: Socket
  readonly #parser = new ReplyParser()
  readonly #pending = new Deque<PendingCommand>()
  readonly #shown: string
  readonly #deadline: ReplyDeadline
  /** Takes the greeting, before the first command. */
  #greeted: ((reply: Reply) => void) | undefined
  /** Lines of this turn: one write for all of them. */
  #outgoing = ''
  #closed: Error | undefined
  /** END was sent: a close is expected. */
  #ending = false
  #heardAt = performance.now()
  #unansweredSince: number | undefined

  private constructor(socket: Socket, shown: string, greeted: (reply: Reply) => void) {
    super()
    this.#socket = socket
    this.#shown = shown
    this.#greeted = greeted
    this.#deadline = new ReplyDeadline(
      socket,
      () => this.#pending.peek()?.deadline,
      () => this.#overdue(),
    )
    socket
      .on('data', (chunk: Buffer) => this.#receive(chunk))
      .on('error', (error) => this.#lost(error))
      // Before the close, which takes some turns: nothing is sent any more, and what waits for the loss of this connection need not wait.
      .on('end', () => {
        // Before the greeting, an error may follow that says more.
        if (this.#greeted === undefined) this.#lost(undefined)
      })
      .on('close', () => this.#lost(undefined))
  }

  /**
   * Connects and says HELLO, unless `mayConnect` is false by then.
   *
   * Rejects with BrokerError for a reason that does not pass: a refused password, a certificate that is not trusted, no TLS on the other side.
   * Rejects with ConnectionLostError for any other.
   */
  static async open(settings: ConnectionSettings, mayConnect: () => boolean = () => true): Promise<FaktoryConnection> {
    const { address, hashes, identity, warn } = settings
    const socket = openSocket(settings)
    const greeting = deferred<Reply>()
    const connection = new FaktoryConnection(socket, address.shown, greeting.resolve)
    let isConnected = false
    socket.once(address.tls ? 'secureConnect' : 'connect', () => {
      isConnected = true
    })
    connection.once('close', (error) => {
      // An alert of TLS may follow the handshake.
      if (!isConnected || isClientRefused(error)) greeting.reject(connectError(address, error))
      else if (error instanceof ReplySyntaxError) greeting.reject(notGreeted(address, `greets with ${error.message}`))
      else
        greeting.reject(
          notGreeted(
            address,
            error instanceof ConnectionLostError ? 'closed the connection without a greeting' : `closed the connection without a greeting (${reasonOf(error)})`,
          ),
        )
    })
    try {
      const reply = await withTimeout(greeting.promise, GREETING_TIMEOUT, () => {
        throw isConnected
          ? notGreeted(address, `does not greet within ${GREETING_TIMEOUT} ms`)
          : connectError(address, new Error(`no answer within ${GREETING_TIMEOUT} ms`))
      })
      if (reply === null || isErrorReply(reply))
        throw new ConnectionLostError(`Faktory at ${address.shown} refused the connection: ${reply?.text ?? 'null'}.`, false)
      const hi = readGreeting(reply)
      if (hi.version > PROTOCOL_VERSION)
        warn(
          `Faktory at ${address.shown} speaks version ${hi.version} of the protocol, and prefork version ${PROTOCOL_VERSION}: an upgrade of prefork is recommended.`,
        )
      const hello = await helloOf(hi, { hashes, username: address.username, identity })
      if (!mayConnect()) throw new ConnectionLostError('The connection is not wanted any more.', false)
      await connection.#sayHello(hello, hi.login !== undefined && hashes === undefined)
      return connection
    } catch (error) {
      connection.destroy(error as Error)
      throw error
    }
  }

  async #sayHello(hello: string, passwordMissing: boolean): Promise<void> {
    try {
      await this.command('HELLO', hello, { timeout: HELLO_TIMEOUT })
    } catch (error) {
      if (error instanceof FaktoryError && /password/i.test(error.serverMessage))
        throw new BrokerError(
          passwordMissing
            ? `Faktory at ${this.#shown} wants a password, and the URL has none: tcp://:password@host:7419. FAKTORY_PASSWORD is a variable of the server, and is not read here.`
            : `Faktory at ${this.#shown} refused the password of the URL.`,
          { cause: error },
        )
      throw error
    }
  }

  get isOpen(): boolean {
    return this.#closed === undefined && !this.#ending
  }

  /** When bytes last came, ms on the monotonic clock. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** It was given up because a command was not answered: when that was sent, ms on the monotonic clock. */
  get unansweredSince(): number | undefined {
    return this.#unansweredSince
  }

  /** Commands that are not answered. */
  get pending(): number {
    return this.#pending.size
  }

  /**
   * Sends a command and resolves with its answer; null is the server's null.
   *
   * Rejects with FaktoryError when the server answers with an error, and with ConnectionLostError when the connection is lost.
   *
   * @throws {TypeError} the argument has a line break; thrown by the call itself
   */
  command(verb: string, argument: string | undefined, { timeout, atOnce = false }: CommandOptions): Promise<string | null> {
    if (argument !== undefined && /[\r\n]/.test(argument)) throw new TypeError(`The argument of ${verb} must have no line break.`)
    return new Promise((resolve, reject) => {
      if (!this.isOpen) {
        reject(this.#lossOf(verb, false))
        return
      }
      const sentAt = performance.now()
      this.#pending.push({ verb, sentAt, deadline: sentAt + timeout, resolve, reject })
      this.#write(argument === undefined ? `${verb}\r\n` : `${verb} ${argument}\r\n`, atOnce)
      this.#deadline.arm()
    })
  }

  /** Otherwise in the check phase: what the sockets and pipes of one turn bring about is one write. */
  #write(line: string, atOnce: boolean): void {
    if (!atOnce && this.#outgoing === '') setImmediate(() => this.#flush())
    this.#outgoing += line
    if (atOnce) this.#flush()
  }

  #flush(): void {
    const lines = this.#outgoing
    this.#outgoing = ''
    if (lines !== '' && this.#closed === undefined) this.#socket.write(lines)
  }

  #receive(chunk: Buffer): void {
    this.#heardAt = performance.now()
    try {
      this.#parser.push(chunk, (reply) => this.#answered(reply))
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  #answered(reply: Reply): void {
    if (this.#greeted !== undefined) {
      const greeted = this.#greeted
      this.#greeted = undefined
      greeted(reply)
      return
    }
    const command = this.#pending.shift()
    if (command === undefined) throw new ReplySyntaxError('The server sent an answer to no command.')
    if (isErrorReply(reply)) command.reject(new FaktoryError(reply.code, reply.text, command.verb))
    else command.resolve(reply)
  }

  #overdue(): void {
    const { verb, sentAt } = this.#pending.peek()!
    this.#unansweredSince = sentAt
    this.destroy(new ConnectionLostError(`Faktory at ${this.#shown} has not answered ${verb} in time: the connection is given up.`, true))
  }

  #lost(error: Error | undefined): void {
    if (this.#closed !== undefined) return
    this.#closed = error ?? new ConnectionLostError(`Faktory at ${this.#shown} closed the connection.`, true)
    this.#deadline.stop()
    this.#socket.destroy()
    for (const { verb, reject } of this.#pending.drain()) reject(this.#lossOf(verb, true))
    this.emit('close', this.#closed)
  }

  #lossOf(verb: string, sent: boolean): ConnectionLostError {
    const cause = this.#closed
    const why = cause === undefined ? 'it is closing' : reasonOf(cause).replace(/\.$/, '')
    return new ConnectionLostError(
      `The connection to Faktory was lost ${sent ? 'before' : 'and took no'} ${verb}${sent ? ' was answered' : ''}: ${why}.`,
      sent,
      { cause },
    )
  }

  /** Closes at once. What is in flight is lost: not for a connection with a FETCH, whose job the server would keep reserved. */
  destroy(error: Error): void {
    this.#lost(error)
  }

  /** Takes no more commands, waits until all are answered, for at most `ms`, default 3,000, sends END, and resolves when the server has closed. */
  async end(ms = DRAIN_TIMEOUT): Promise<void> {
    if (!this.isOpen) return
    const endsAt = performance.now() + ms
    const closed = new Promise<void>((resolve) => this.once('close', () => resolve()))
    this.#ending = true
    if (this.#pending.size > 0) await withTimeout(Promise.race([closed, this.#lastAnswered()]), ms, () => {})
    if (this.#closed !== undefined) return
    this.#write('END\r\n', false)
    await withTimeout(closed, Math.min(END_TIMEOUT, Math.max(LEAST_END_TIMEOUT, endsAt - performance.now())), () => {})
    this.destroy(new ConnectionLostError('The connection was closed.', true))
  }

  #lastAnswered(): Promise<void> {
    return new Promise((done) => {
      const last = this.#pending.at(this.#pending.size - 1)!
      const { resolve, reject } = last
      last.resolve = (reply) => {
        resolve(reply)
        done()
      }
      last.reject = (error) => {
        reject(error)
        done()
      }
    })
  }
}
