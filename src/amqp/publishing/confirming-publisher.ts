/** Publishes with confirms: a promise resolves when the broker has taken responsibility, over as many connections as that takes. */
import { Deque } from '../../util/deque.js'
import { withTimeout } from '../../util/with-timeout.js'
import { SteadyChannel } from '../connection/channel.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { codeOfClosure } from '../connection/refusals.js'
import { PublishError, UnroutableError } from '../errors.js'
import { type Outstanding, type Publication, returnKey } from './publication.js'

/** Messages written and not confirmed, at the most: what a cut connection may leave stored twice. */
const WINDOW = 1_024
/** Times that one message is written before it is given up. */
const MAX_SENT = 5
/** ms between two looks at deadlines. */
const LOOK = 250

export interface PublisherUse {
  /** Runs on each new channel before anything is published on it. */
  setup?(channel: AmqpChannel): Promise<void>
  gone?(reason: Error): void
}

export class ConfirmingPublisher {
  readonly #steady: SteadyChannel
  #channel: AmqpChannel | undefined
  /** Not written, in order. */
  #waiting = new Deque<Outstanding>()
  /** Written on the present channel, in order. */
  readonly #written = new Set<Outstanding>()
  /** The socket's buffer has room. */
  #writable = true
  #closed: Error | undefined
  #timer: NodeJS.Timeout | undefined
  #idle: (() => void)[] = []

  constructor(connection: SteadyConnection, use: PublisherUse = {}) {
    this.#steady = new SteadyChannel(connection, {
      confirm: true,
      setup: async (channel) => {
        channel.on('drain', () => {
          this.#writable = true
          this.#pump()
        })
        channel.on('return', (message: AmqpMessage) => this.#returned(message))
        await use.setup?.(channel)
      },
      opened: (channel) => {
        this.#channel = channel
        this.#writable = true
        this.#pump()
      },
      gone: (channel, reason) => {
        if (this.#channel === channel) {
          this.#channel = undefined
          this.#cut(reason)
        }
        use.gone?.(reason)
      },
    })
  }

  /** Messages not confirmed. */
  get outstanding(): number {
    return this.#waiting.size + this.#written.size
  }

  /**
   * Resolves when the broker has confirmed it.
   *
   * Rejects with UnroutableError (`mandatory`, and no queue took it) or PublishError (refused, too large, no answer in time, closed).
   */
  publish(publication: Publication): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    return new Promise((resolve, reject) => {
      const deadline = publication.timeout === undefined ? Number.POSITIVE_INFINITY : performance.now() + publication.timeout
      this.#waiting.push({ publication, deadline, sent: 0, returned: false, settled: false, resolve, reject })
      if (publication.timeout !== undefined) this.#timer ??= setInterval(() => this.#look(), LOOK)
      this.#pump()
    })
  }

  #pump(): void {
    const channel = this.#channel
    if (channel === undefined) return
    while (this.#waiting.size > 0 && this.#writable && this.#written.size < WINDOW && this.#channel === channel) {
      const each = this.#waiting.shift()!
      if (!each.settled) this.#write(channel, each)
    }
    this.#settleIdle()
  }

  #write(channel: AmqpChannel, each: Outstanding): void {
    const { exchange, key, body, options, written } = each.publication
    this.#written.add(each)
    each.sent++
    each.returned = false
    try {
      this.#writable = channel.publish(exchange, key, body, options, (error) => this.#confirmed(channel, each, error))
      written?.()
    } catch (cause) {
      // amqplib could not encode the headers, or the channel has gone in this very moment: then `gone` follows.
      if (this.#channel === channel && !isClosedError(cause)) this.#fail(each, `The message cannot be encoded: ${String(cause)}`, 'no', cause)
    }
  }

  #confirmed(channel: AmqpChannel, each: Outstanding, error: Error | null): void {
    // amqplib also calls back when the channel closes: those are sent again by `gone`.
    if (this.#channel !== channel || !this.#written.has(each) || error?.message === 'channel closed') return
    if (error !== null) {
      this.#fail(each, `RabbitMQ refused the message for the queue '${each.publication.key}': it is full, or cannot store it just now.`, 'no', error)
    } else if (each.returned) {
      this.#written.delete(each)
      each.settled = true
      each.reject(new UnroutableError(each.publication.key))
    } else {
      this.#written.delete(each)
      each.settled = true
      each.resolve()
    }
    this.#pump()
    this.#settleIdle()
  }

  #returned(message: AmqpMessage): void {
    const key = returnKey(message.fields.exchange, message.fields.routingKey, message.properties.messageId)
    for (const each of this.#written) {
      const { exchange, key: queue, options } = each.publication
      if (each.returned || returnKey(exchange, queue, options.messageId) !== key) continue
      each.returned = true
      return
    }
  }

  /** The channel is gone with what it had not confirmed: that goes out again, in its order, before anything later. */
  #cut(reason: Error): void {
    const written = [...this.#written]
    this.#written.clear()
    const tooLarge = /message size (\d+).* max size (\d+)/.exec(reason.message)
    const again: Outstanding[] = []
    for (const each of written) {
      if (each.settled) continue
      if (tooLarge !== null && each.publication.body.length > Number(tooLarge[2]))
        this.#fail(each, `The message has ${each.publication.body.length} bytes; this RabbitMQ takes at most ${tooLarge[2]} (max_message_size).`, 'no', reason)
      else if (written.length === 1 && each.sent === 1 && isRefusedPublish(reason)) this.#fail(each, unconfirmed(reason), 'no', reason)
      else if (each.publication.resend && each.sent < MAX_SENT) {
        each.cut = reason
        again.push(each)
      } else this.#fail(each, unconfirmed(reason), 'unknown', reason)
    }
    this.#wait([...again, ...this.#waiting.drain()])
  }

  #fail(each: Outstanding, message: string, stored: 'no' | 'unknown', cause?: unknown): void {
    this.#written.delete(each)
    if (each.settled) return
    each.settled = true
    each.reject(new PublishError(message, stored, cause === undefined ? undefined : { cause }))
  }

  #look(): void {
    const now = performance.now()
    const waiting = this.#waiting.drain()
    for (const each of [...this.#written, ...waiting]) {
      if (each.deadline > now) continue
      const { timeout, key } = each.publication
      const what = each.sent === 0 ? 'RabbitMQ could not be reached' : 'RabbitMQ did not confirm it'
      const cut = each.cut === undefined ? '' : ` ${unconfirmed(each.cut)}`
      this.#fail(each, `The message for the queue '${key}' was given up after ${timeout} ms: ${what}.${cut}`, each.sent === 0 ? 'no' : 'unknown', each.cut)
    }
    this.#wait(waiting)
    this.#pump()
  }

  #wait(all: readonly Outstanding[]): void {
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

  /** Refuses further messages, waits up to `timeout` ms for what is outstanding, and rejects the rest. */
  async finish(timeout: number): Promise<void> {
    this.#closed ??= new PublishError('The message was refused: the publisher is closed or closing.', 'no')
    await withTimeout(this.flush(), timeout, () => {})
    for (const each of [...this.#written, ...this.#waiting.drain()])
      this.#fail(each, 'The publisher was closed before RabbitMQ confirmed the message.', each.sent === 0 ? 'no' : 'unknown')
    this.#settleIdle()
  }

  /** Finishes, and closes. */
  async close(timeout: number): Promise<void> {
    await this.finish(timeout)
    await this.#steady.close()
  }
}

/** The broker says why it ends a channel or connection; whoever is cut off from it cannot know. */
const unconfirmed = (reason: Error): string => {
  const code = codeOfClosure(reason)
  if (code === undefined) return `The connection was lost before RabbitMQ confirmed the message: ${reason.message}`
  return `RabbitMQ refused the message${code === 403 ? '' : ', or ended what it was sent over for another reason'}: ${reason.message}`
}

/** ACCESS_REFUSED for a basic.publish: where one message alone was on its way, it was that one, and no queue has it. */
const isRefusedPublish = (reason: Error): boolean => {
  const { classId, methodId } = reason as { classId?: unknown; methodId?: unknown }
  return codeOfClosure(reason) === 403 && classId === 60 && methodId === 40
}

const isClosedError = (error: unknown): boolean =>
  (error as { name?: unknown }).name === 'IllegalOperationError' || (error instanceof Error && error.constructor.name === 'IllegalOperationError')
