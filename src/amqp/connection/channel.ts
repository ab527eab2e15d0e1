/** A channel that comes back: the death of a channel without that of its connection is silent unless somebody watches. */
import { ReconnectBackoff } from './backoff.js'
import type { AmqpChannel, AmqpConnection } from './client.js'
import { closeChannel } from './closing.js'
import type { SteadyConnection } from './connection.js'

export interface ChannelUse {
  readonly confirm: boolean
  /** Runs on each new channel before it counts as open. When it rejects, the channel is given up and another opened, with backoff. */
  setup(channel: AmqpChannel, connection: AmqpConnection): Promise<void>
  opened?(channel: AmqpChannel): void
  /** The channel is gone, and nothing can be sent on it any more. Called once for each that had been opened by `setup` or was about to be. */
  gone?(channel: AmqpChannel, reason: Error): void
  /** Opening failed; another attempt follows. */
  failed?(error: Error): void
}

export class SteadyChannel {
  readonly #connection: SteadyConnection
  readonly #use: ChannelUse
  readonly #backoff = new ReconnectBackoff()
  #channel: AmqpChannel | undefined
  /** Counts attempts: an old one that ends late is not the current one's business. */
  #attempt = 0
  #timer: NodeJS.Timeout | undefined
  #closed = false
  readonly #up = (connection: AmqpConnection): void => void this.#open(connection)

  constructor(connection: SteadyConnection, use: ChannelUse) {
    this.#connection = connection
    this.#use = use
    connection.on('up', this.#up)
    if (connection.current !== undefined) void this.#open(connection.current)
  }

  /** Undefined while there is none, or it is being set up. */
  get channel(): AmqpChannel | undefined {
    return this.#channel
  }

  async #open(connection: AmqpConnection): Promise<void> {
    if (this.#closed) return
    clearTimeout(this.#timer)
    const attempt = ++this.#attempt
    let channel: AmqpChannel | undefined
    let dead = false
    try {
      channel = await (this.#use.confirm ? connection.createConfirmChannel() : connection.createChannel())
      let reason: Error | undefined
      channel.on('error', (error: Error) => {
        reason = error
      })
      // Without a listener an error of ours in a callback would end the connection.
      channel.on('handler-error', (error: Error) => this.#use.failed?.(error))
      const opened = channel
      channel.on('close', () => {
        dead = true
        this.#lost(opened, connection, attempt, reason ?? this.#connection.trouble ?? new Error('The channel was closed with its connection.'))
      })
      await this.#use.setup(channel, connection)
      if (dead) return
      if (this.#closed || attempt !== this.#attempt) {
        await closeChannel(channel).catch(() => {})
        return
      }
      this.#channel = channel
      this.#backoff.opened()
      this.#use.opened?.(channel)
    } catch (error) {
      this.#use.failed?.(error instanceof Error ? error : new Error(String(error)))
      if (dead) return
      if (channel === undefined) this.#again(connection, attempt)
      else await closeChannel(channel).catch(() => {})
    }
  }

  #lost(channel: AmqpChannel, connection: AmqpConnection, attempt: number, reason: Error): void {
    if (this.#channel === channel) this.#channel = undefined
    this.#use.gone?.(channel, reason)
    this.#again(connection, attempt)
  }

  /** On the same connection; a new one opens its own. */
  #again(connection: AmqpConnection, attempt: number): void {
    if (this.#closed || attempt !== this.#attempt || this.#connection.current !== connection) return
    this.#timer = setTimeout(() => {
      if (this.#connection.current === connection) void this.#open(connection)
    }, this.#backoff.next())
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#attempt++
    clearTimeout(this.#timer)
    this.#connection.off('up', this.#up)
    const channel = this.#channel
    this.#channel = undefined
    if (channel !== undefined) await closeChannel(channel).catch(() => {})
  }
}
