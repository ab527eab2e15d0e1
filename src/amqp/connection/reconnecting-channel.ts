import { ReconnectBackoff } from '../../node/connection/reconnect-backoff.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { closeChannel } from './bounded-close.js'
import type { AmqpChannel, AmqpConnection } from './client.js'
import type { ReconnectingConnection } from './reconnecting-connection.js'

export interface ChannelSettings {
  readonly confirm: boolean
  /** Runs on each new channel before `opened`. When it rejects, the channel is closed and another one opened, with backoff. */
  setup(channel: AmqpChannel, connection: AmqpConnection): Promise<void>
  opened?(channel: AmqpChannel): void
  /** The channel is closed, during `setup` or later. Called once for each channel. */
  closed?(channel: AmqpChannel, reason: Error): void
  /** Opening or `setup` failed; another attempt follows. */
  failed?(error: Error): void
}

/** A channel that is opened again when it is closed, alone or with its connection. amqplib restores neither. */
export class ReconnectingChannel {
  readonly #connection: ReconnectingConnection
  readonly #settings: ChannelSettings
  readonly #backoff = new ReconnectBackoff()
  #channel: AmqpChannel | undefined
  /** Number of the current attempt. The result of an older attempt is dropped. */
  #attempt = 0
  #timer: NodeJS.Timeout | undefined
  #closed = false
  readonly #onUp = (connection: AmqpConnection): void => void this.#open(connection)

  constructor(connection: ReconnectingConnection, settings: ChannelSettings) {
    this.#connection = connection
    this.#settings = settings
    connection.on('up', this.#onUp)
    if (connection.current !== undefined) void this.#open(connection.current)
  }

  /** Undefined while no channel is open and set up. */
  get channel(): AmqpChannel | undefined {
    return this.#channel
  }

  async #open(connection: AmqpConnection): Promise<void> {
    if (this.#closed) return
    clearTimeout(this.#timer)
    const attempt = ++this.#attempt
    let channel: AmqpChannel | undefined
    let closed = false
    try {
      channel = await (this.#settings.confirm ? connection.createConfirmChannel() : connection.createChannel())
      let reason: Error | undefined
      channel.on('error', (error: Error) => {
        reason = error
      })
      // Without this listener amqplib closes the connection when one of our callbacks throws.
      channel.on('handler-error', (error: Error) => this.#settings.failed?.(error))
      const current = channel
      channel.on('close', () => {
        closed = true
        this.#lost(current, connection, attempt, reason ?? this.#connection.closeReason ?? new Error('The channel was closed with its connection.'))
      })
      await this.#settings.setup(channel, connection)
      if (closed) return
      if (this.#closed || attempt !== this.#attempt) {
        await closeChannel(channel).catch(() => {})
        return
      }
      this.#channel = channel
      this.#backoff.opened()
      this.#settings.opened?.(channel)
    } catch (error) {
      this.#settings.failed?.(error instanceof Error ? error : new Error(String(error)))
      if (closed) return
      if (channel === undefined) this.#openLater(connection, attempt)
      else await closeChannel(channel).catch(() => {})
    }
  }

  #lost(channel: AmqpChannel, connection: AmqpConnection, attempt: number, reason: Error): void {
    if (this.#channel === channel) this.#channel = undefined
    this.#settings.closed?.(channel, reason)
    this.#openLater(connection, attempt)
  }

  /** Opens the next channel on the same connection. A new connection opens the channel by its event `up`. */
  #openLater(connection: AmqpConnection, attempt: number): void {
    if (this.#closed || attempt !== this.#attempt || this.#connection.current !== connection) return
    this.#timer = setTimeout(() => {
      if (this.#connection.current === connection) void this.#open(connection)
    }, this.#backoff.next())
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#attempt++
    clearTimeout(this.#timer)
    this.#connection.off('up', this.#onUp)
    const channel = this.#channel
    this.#channel = undefined
    if (channel !== undefined) await closeChannel(channel).catch(() => {})
  }
}
