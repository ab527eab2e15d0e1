import { EventEmitter } from 'node:events'
import { BrokerError } from '../../node/connection/errors.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { withTimeout } from '../../util/with-timeout.js'
import { ConnectionLostError } from '../errors.js'
import type { ConnectionSettings, FaktoryConnection } from './connection.js'
import { ReconnectingConnection, type ReconnectingOptions } from './reconnecting-connection.js'

export interface CommandSettings extends ConnectionSettings {
  /** Connections that share the commands, at most. There is one, and more when commands wait for each other's answers. */
  readonly connections: number
  /** Commands that may wait for a connection. */
  readonly maxWaiting: number
}

/** Unanswered commands on each connection at which another one is opened: the server answers those of one connection one after another. */
const BUSY = 2

/** ms that a command has by default: to be sent, and then to be answered. */
const TIMEOUT = 15_000

/** ms */
export interface CommandTimeouts {
  /** From the sending to the answer. Default 15,000. A connection that has not answered by then is given up. */
  readonly timeout?: number
  /** For a connection on which the command can be sent. Default `timeout`. */
  readonly sendTimeout?: number
}

interface WaitingCommand {
  readonly verb: string
  readonly argument: string | undefined
  /** ms for the answer. */
  readonly timeout: number
  resolve(reply: string | null): void
  reject(error: Error): void
  timer: NodeJS.Timeout | undefined
}

export interface CommandEvents {
  /** The first of the connections is there, again or for the first time. */
  up: []
  /** The last of them is lost. */
  down: [reason: Error]
  /** An attempt to connect failed, and there is no other connection. */
  retry: [error: Error, wait: number]
}

/**
 * The connections for commands that do not wait: PUSH, ACK, FAIL, BEAT, INFO. They are made again when they are lost; meanwhile a command waits.
 *
 * For a publisher: `new CommandConnections({ address: addressOf(url), tls, hashes, connections: 1, maxWaiting, warn })`, without an `identity`;
 * `await start()`; `await command('PUSH', JSON.stringify(job))`; `await close()`.
 */
export class CommandConnections extends EventEmitter<CommandEvents> {
  readonly #settings: ConnectionSettings
  readonly #connections: ReconnectingConnection[] = []
  readonly #most: number
  readonly #maxWaiting: number
  readonly #shown: string
  /** In the order in which they came. */
  readonly #waiting = new Set<WaitingCommand>()
  #connected = 0
  #closed = false
  #lastError: Error | undefined

  constructor({ connections, maxWaiting, ...settings }: CommandSettings) {
    super()
    this.setMaxListeners(0)
    this.#settings = settings
    this.#most = connections
    this.#maxWaiting = maxWaiting
    this.#shown = settings.address.shown
    this.#add()
  }

  #add(options: ReconnectingOptions = {}): ReconnectingConnection {
    const connection = new ReconnectingConnection(this.#settings, options)
    this.#connections.push(connection)
    return connection
      .on('up', () => this.#opened())
      .on('down', (reason, unansweredSince) => this.#lost(reason, unansweredSince))
      .on('retry', (error, wait) => {
        this.#lastError = error
        if (this.#connected === 0) this.emit('retry', error, wait)
      })
  }

  /** Resolves when the first is connected. Rejects with BrokerError for a permanent reason, or when `close` is called before. Otherwise tries again. */
  start(): Promise<void> {
    return this.#connections[0]!.start()
  }

  /** Connections, also those that are down. */
  get size(): number {
    return this.#connections.length
  }

  get connected(): boolean {
    return this.#connected > 0
  }

  /**
   * Sends a command over the connection with the fewest unanswered ones, as soon as there is one, and resolves with the answer.
   *
   * Rejects with FaktoryError when the server answers with an error. Rejects with ConnectionLostError when the command could not be sent
   * (`sent: false`), or the connection was lost before the answer (`sent: true`: it may have had its effect; it is not sent again by itself).
   * Rejects with BrokerError when this is closed, or too many commands wait.
   */
  command(verb: string, argument?: string, { timeout = TIMEOUT, sendTimeout = timeout }: CommandTimeouts = {}): Promise<string | null> {
    if (this.#closed) return Promise.reject(new BrokerError(`${verb} is refused: the connection to Faktory is closed.`))
    const connection = this.#leastBusy()
    if (connection !== undefined && this.#waiting.size === 0) {
      if (connection.pending >= BUSY) this.#openAnother()
      return connection.command(verb, argument, { timeout })
    }
    if (this.#waiting.size >= this.#maxWaiting)
      return Promise.reject(new BrokerError(`${verb} is refused: ${this.#waiting.size} commands wait for a connection to Faktory at ${this.#shown}.`))
    return this.#wait({ verb, argument, timeout }, sendTimeout)
  }

  /** As `command`, with one time for both, ms. What was sent, and is not answered by then, may have had its effect: `sent` is true. */
  commandWithin(verb: string, argument: string | undefined, ms: number): Promise<string | null> {
    // The timer of a command that waits is older, and fires first.
    return withTimeout(this.command(verb, argument, { timeout: ms }), ms, () => {
      throw new ConnectionLostError(`${verb} was not answered within ${Math.round(ms)} ms.`, true)
    })
  }

  #wait(given: Pick<WaitingCommand, 'verb' | 'argument' | 'timeout'>, ms: number): Promise<string | null> {
    return new Promise((resolve, reject) => {
      const command: WaitingCommand = { ...given, resolve, reject, timer: undefined }
      command.timer = setTimeout(() => {
        this.#remove(command)
        const reason = this.#lastError === undefined ? '' : `. ${this.#lastError.message}`
        reject(this.#notSent(given.verb, `there is no connection for ${Math.round(ms)} ms${reason}`))
      }, ms)
      this.#waiting.add(command)
    })
  }

  #remove(command: WaitingCommand): void {
    this.#waiting.delete(command)
    clearTimeout(command.timer)
  }

  #notSent(verb: string, why: string): ConnectionLostError {
    return new ConnectionLostError(`${verb} could not be sent: ${why.replace(/\.$/, '')}.`, false)
  }

  #leastBusy(): FaktoryConnection | undefined {
    let best: FaktoryConnection | undefined
    for (const { current } of this.#connections) if (current !== undefined && (best === undefined || current.pending < best.pending)) best = current
    return best
  }

  /** One at a time. It is not waited for. What is refused to it is tried again, as another one has connected. */
  #openAnother(): void {
    if (this.#connections.length === this.#most || this.#connected < this.#connections.length) return
    this.#add({ retriesPermanentErrors: true })
      .start()
      .catch(() => {})
  }

  #opened(): void {
    this.#connected++
    this.#sendWaiting()
    if (this.#connected === 1) this.emit('up')
  }

  #sendWaiting(): void {
    for (const command of this.#waiting) {
      this.#remove(command)
      // The one that has just been opened, at least.
      this.#leastBusy()!.command(command.verb, command.argument, { timeout: command.timeout }).then(command.resolve, command.reject)
    }
  }

  #lost(reason: Error, unansweredSince: number | undefined): void {
    if (--this.#connected === 0) this.emit('down', reason)
    if (unansweredSince === undefined) return
    // What cut off one has mostly cut off the others: a command would use up its time on each. Those on which nothing has come since then are made anew.
    for (const each of this.#connections) if (each.current !== undefined && each.current.heardAt < unansweredSince) each.renew(reason)
  }

  /** Says HELLO on new connections. Commands wait for the first of them. */
  renew(): void {
    for (const each of this.#connections) each.renew()
  }

  /** Refuses what waits, waits for the answers to what was sent, for `ms`, default 3,000, and closes. */
  async close(ms?: number): Promise<void> {
    this.#closed = true
    for (const command of this.#waiting) {
      this.#remove(command)
      command.reject(this.#notSent(command.verb, 'the connection is closed'))
    }
    const closed = new BrokerError(`The connection to Faktory at ${this.#shown} has been closed.`)
    await Promise.all(this.#connections.map((each) => each.close(closed, ms)))
  }
}
