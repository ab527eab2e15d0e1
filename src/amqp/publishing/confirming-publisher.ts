import { performance } from 'node:perf_hooks'
import { Deque } from '../../util/deque.js'
import { clearInterval, setInterval } from '../../util/node-time.js'
import { withTimeout } from '../../util/with-timeout.js'
import { type AmqpChannel, type AmqpMessage, corkForTurn, type PublishOptions } from '../connection/client.js'
import { closeCode } from '../connection/connect-errors.js'
import { publishOn } from '../connection/message-frames.js'
import { ReconnectingChannel } from '../connection/reconnecting-channel.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { PublishError, UnroutableError } from '../errors.js'

/** Messages written and not confirmed at most. So many messages may be stored twice when a connection is lost. */
const MAX_UNCONFIRMED = 1_024
/** Times that one message is written at most. */
const MAX_SENDS = 5
/** ms between two checks of the deadlines. */
const DEADLINE_CHECK_INTERVAL = 250

/** A message on its way to an exchange. */
export interface Publication {
  readonly exchange: string
  readonly key: string
  readonly body: Buffer
  readonly options: PublishOptions
  /** Publish it again when the connection is lost before the confirm: it may then be stored twice, with the same message id. */
  readonly resend: boolean
  /** ms until the message must be confirmed, including a wait for a connection; undefined: no limit. */
  readonly timeout?: number | undefined
  /** Called each time that the message is written. */
  readonly written?: (() => void) | undefined
}

/** A publication that the broker has not confirmed yet. */
interface OutstandingPublication {
  readonly publication: Publication
  readonly deadline: number
  /** How often the message was written. */
  sent: number
  /** The error that closed the channel. The message is published again because of it. */
  lostBy?: Error
  returned: boolean
  settled: boolean
  readonly end: PublicationEnd
}

/** Called once, without an error when the broker has confirmed the message. */
export type PublicationEnd = (error?: Error) => void

interface PublisherHandlers {
  /** Runs on each new channel before the first publication. */
  setup?(channel: AmqpChannel): Promise<void>
  closed?(reason: Error): void
}

/** Publishes with publisher confirms (https://www.rabbitmq.com/docs/confirms), on further channels when one is lost before the confirm. */
export class ConfirmingPublisher {
  readonly #reconnecting: ReconnectingChannel
  #channel: AmqpChannel | undefined
  #messages: ReturnType<typeof publishOn> | undefined
  /** Publications not yet written, in order. */
  #waiting = new Deque<OutstandingPublication>()
  /** Publications written on the present channel, in order. */
  readonly #written = new Set<OutstandingPublication>()
  /** The socket's write buffer is not full. */
  #writable = true
  /** The messages of this turn are written together. */
  #corked = false
  #closed: Error | undefined
  #timer: NodeJS.Timeout | undefined
  #idle: (() => void)[] = []

  constructor(connection: ReconnectingConnection, handlers: PublisherHandlers = {}) {
    this.#reconnecting = new ReconnectingChannel(connection, {
      confirm: true,
      setup: async (channel) => {
        channel.on('drain', () => {
          this.#writable = true
          this.#pump()
        })
        channel.on('return', (message: AmqpMessage) => this.#returned(message))
        await handlers.setup?.(channel)
      },
      opened: (channel) => {
        this.#channel = channel
        this.#messages = publishOn(channel)
        this.#writable = true
        this.#pump()
      },
      closed: (channel, reason) => {
        if (this.#channel === channel) {
          this.#channel = undefined
          this.#resendWritten(reason)
        }
        handlers.closed?.(reason)
      },
    })
  }

  /** Messages that are not confirmed yet. */
  get outstanding(): number {
    return this.#waiting.size + this.#written.size
  }

  /** Resolves when the broker has confirmed the message. Rejects with UnroutableError, or with PublishError: refused, too large, too late or closed. */
  publish(publication: Publication): Promise<void> {
    return new Promise((resolve, reject) => this.send(publication, (error) => (error === undefined ? resolve() : reject(error))))
  }

  /** As `publish`, without a promise. `end` may be called at once. */
  send(publication: Publication, end: PublicationEnd): void {
    if (this.#closed !== undefined) {
      end(this.#closed)
      return
    }
    const deadline = publication.timeout === undefined ? Number.POSITIVE_INFINITY : performance.now() + publication.timeout
    this.#waiting.push({ publication, deadline, sent: 0, returned: false, settled: false, end })
    if (publication.timeout !== undefined) this.#timer ??= setInterval(() => this.#expireOverdue(), DEADLINE_CHECK_INTERVAL)
    this.#pump()
  }

  #pump(): void {
    const channel = this.#channel
    if (channel === undefined) return
    while (this.#waiting.size > 0 && this.#writable && this.#written.size < MAX_UNCONFIRMED && this.#channel === channel) {
      const each = this.#waiting.shift()!
      if (!each.settled) this.#write(channel, each)
    }
    this.#settleIdle()
  }

  #write(channel: AmqpChannel, each: OutstandingPublication): void {
    const { exchange, key, body, options, written } = each.publication
    this.#written.add(each)
    each.sent++
    each.returned = false
    const messages = this.#messages!
    // A message alone is written at once.
    if (!messages.batched && this.#written.size > 1) this.#corkForTurn(channel)
    try {
      this.#writable = messages.publish(exchange, key, body, options, (error) => this.#confirmed(channel, each, error))
      written?.()
    } catch (cause) {
      // Either amqplib could not encode the headers, or the channel has just been closed: then `closed` follows.
      if (this.#channel === channel && !isClosedError(cause)) this.#fail(each, `The message cannot be encoded: ${String(cause)}`, 'no', cause)
    }
  }

  #corkForTurn({ connection: { stream } }: AmqpChannel): void {
    if (this.#corked || stream === undefined) return
    this.#corked = true
    corkForTurn(stream, () => {
      this.#corked = false
    })
  }

  #confirmed(channel: AmqpChannel, each: OutstandingPublication, error: Error | null): void {
    // amqplib also calls back when the channel is closed: `closed` sends those messages again.
    if (this.#channel !== channel || !this.#written.has(each) || error?.message === 'channel closed') return
    if (error !== null) {
      this.#fail(each, `RabbitMQ refused the message for the queue '${each.publication.key}': it is full, or cannot store it just now.`, 'no', error)
    } else {
      this.#written.delete(each)
      each.settled = true
      each.end(each.returned ? new UnroutableError(each.publication.key) : undefined)
    }
    this.#pump()
    this.#settleIdle()
  }

  #returned(message: AmqpMessage): void {
    // `basic.return` has content and properties, but no delivery tag.
    const { fields, properties } = message
    for (const each of this.#written) {
      const { exchange, key, options } = each.publication
      if (each.returned || exchange !== fields.exchange || key !== fields.routingKey || options.messageId !== properties.messageId) continue
      each.returned = true
      return
    }
  }

  /** The channel is closed. Messages that were not confirmed on it are published again, in order, before later messages. */
  #resendWritten(reason: Error): void {
    const written = [...this.#written]
    this.#written.clear()
    const tooLarge = /message size (\d+).* max size (\d+)/.exec(reason.message)
    const resent: OutstandingPublication[] = []
    for (const each of written) {
      if (each.settled) continue
      if (tooLarge !== null && each.publication.body.length > Number(tooLarge[2]))
        this.#fail(each, `The message has ${each.publication.body.length} bytes; this RabbitMQ takes at most ${tooLarge[2]} (max_message_size).`, 'no', reason)
      else if (written.length === 1 && each.sent === 1 && isRefusedPublish(reason)) this.#fail(each, unconfirmed(reason), 'no', reason)
      else if (each.publication.resend && each.sent < MAX_SENDS) {
        each.lostBy = reason
        resent.push(each)
      } else this.#fail(each, unconfirmed(reason), 'unknown', reason)
    }
    this.#enqueue([...resent, ...this.#waiting.drain()])
  }

  #fail(each: OutstandingPublication, message: string, stored: 'no' | 'unknown', cause?: unknown): void {
    this.#written.delete(each)
    if (each.settled) return
    each.settled = true
    each.end(new PublishError(message, stored, cause === undefined ? undefined : { cause }))
  }

  #expireOverdue(): void {
    const now = performance.now()
    const waiting = this.#waiting.drain()
    for (const each of [...this.#written, ...waiting]) {
      if (each.deadline > now) continue
      const { timeout, key } = each.publication
      const state = each.sent === 0 ? 'RabbitMQ could not be reached' : 'RabbitMQ did not confirm it'
      const reason = each.lostBy === undefined ? '' : ` ${unconfirmed(each.lostBy)}`
      this.#fail(
        each,
        `The message for the queue '${key}' was given up after ${timeout} ms: ${state}.${reason}`,
        each.sent === 0 ? 'no' : 'unknown',
        each.lostBy,
      )
    }
    this.#enqueue(waiting)
    this.#pump()
  }

  #enqueue(all: readonly OutstandingPublication[]): void {
    for (const each of all) if (!each.settled) this.#waiting.push(each)
    this.#settleIdle()
  }

  #settleIdle(): void {
    if (this.outstanding > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }

  /** Resolves when nothing is outstanding. */
  flush(): Promise<void> {
    return this.outstanding === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Refuses further messages, waits up to `timeout` ms for the outstanding ones, and rejects the rest. */
  async finish(timeout: number): Promise<void> {
    this.#closed ??= new PublishError('The message was refused: the publisher is closed or closing.', 'no')
    await withTimeout(this.flush(), timeout, () => {})
    for (const each of [...this.#written, ...this.#waiting.drain()])
      this.#fail(each, 'The publisher was closed before RabbitMQ confirmed the message.', each.sent === 0 ? 'no' : 'unknown')
    this.#settleIdle()
  }

  /** As `finish`, and closes the channel. */
  async close(timeout: number): Promise<void> {
    await this.finish(timeout)
    await this.#reconnecting.close()
  }
}

/** The broker gives a reason when it closes a channel or connection. A lost connection has none. */
const unconfirmed = (reason: Error): string => {
  const code = closeCode(reason)
  if (code === undefined) return `The connection was lost before RabbitMQ confirmed the message: ${reason.message}`
  return `RabbitMQ refused the message${code === 403 ? '' : ', or ended what it was sent over for another reason'}: ${reason.message}`
}

/** ACCESS_REFUSED for a basic.publish. If only one message was written, it is the refused message, and no queue has it. */
const isRefusedPublish = (reason: Error): boolean => {
  const { classId, methodId } = reason as { classId?: unknown; methodId?: unknown }
  return closeCode(reason) === 403 && classId === 60 && methodId === 40
}

const isClosedError = (error: unknown): boolean =>
  (error as { name?: unknown }).name === 'IllegalOperationError' || (error instanceof Error && error.constructor.name === 'IllegalOperationError')
