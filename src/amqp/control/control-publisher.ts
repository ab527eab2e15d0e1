import { writeEvents } from '../../runtime/report/messages.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import type { AmqpMessage, PublishOptions } from '../connection/client.js'
import { ReconnectingChannel } from '../connection/reconnecting-channel.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { declareExchanges, EVENT_KEY, JSON_TYPE, NODES_KEY } from '../topology/topology.js'

/** ms that an event may wait for others in its batch. */
const BATCH_DELAY = 50
/** Events in one message at most. */
const MAX_EVENTS = 500
/** Answers that wait for a channel at most. The oldest are dropped: their senders have given up. */
const MAX_UNSENT_ANSWERS = 20

interface AddressedAnswer {
  readonly replyTo: string
  readonly body: Buffer
  readonly correlationId: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
}

export interface ControlPublisherSettings {
  readonly controlExchange: string
  readonly eventExchange: string
  opened(): void
  failed(error: Error): void
}

/**
 * Publishes everything that a node sends over the control and event exchanges: its events, its answers to commands, and the ping by
 * which it finds another node of its name. Events are batched: a message for each would cost a node under load more than its jobs.
 */
export class ControlPublisher {
  readonly #controlExchange: string
  readonly #eventExchange: string
  readonly #reconnecting: ReconnectingChannel
  #batch: FarmEvent[] = []
  #timer: NodeJS.Timeout | undefined
  /** False: no queue is bound to the event exchange, as far as is known, and events are not encoded. */
  #hasListeners = true
  /** Ids of messages that RabbitMQ returned because no queue is bound. It confirms each afterwards. */
  readonly #returned = new Set<string>()
  #count = 0
  /** Commands arrive on another connection, which may be open before this one. */
  #unsentAnswers: AddressedAnswer[] = []

  /** `connection`: that of the publications. An alarm of RabbitMQ blocks publishing connections, and must not block acknowledgements. */
  constructor(connection: ReconnectingConnection, { controlExchange, eventExchange, opened, failed }: ControlPublisherSettings) {
    this.#controlExchange = controlExchange
    this.#eventExchange = eventExchange
    this.#reconnecting = new ReconnectingChannel(connection, {
      confirm: true,
      setup: async (channel) => {
        channel.on('return', ({ properties }: AmqpMessage) => {
          if (properties.messageId !== undefined) this.#returned.add(properties.messageId)
        })
        await declareExchanges(channel, controlExchange, eventExchange)
      },
      opened: () => {
        this.listenerSeen()
        for (const answer of this.#unsentAnswers.splice(0)) this.answer(answer)
        opened()
      },
      closed: () => this.#returned.clear(),
      failed,
    })
  }

  /** A listener may have been bound: events are published again until a message is returned. */
  listenerSeen(): void {
    this.#hasListeners = true
  }

  get hasListeners(): boolean {
    return this.#hasListeners
  }

  /** Publishes an event with the next batch. It is lost without a listener, and while there is no connection. */
  publish(event: FarmEvent): void {
    this.#batch.push(event)
    // Heartbeats are always published: one that is not returned shows that a listener exists.
    if (event.type === 'node.heartbeat') this.#flush(true)
    else if (this.#batch.length >= MAX_EVENTS) this.#flush(false)
    else this.#timer ??= setTimeout(() => this.#flush(false), BATCH_DELAY)
  }

  #flush(always: boolean): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#batch
    this.#batch = []
    if (events.length === 0 || this.#reconnecting.channel === undefined || !(this.#hasListeners || always)) return
    this.#publishMandatory(EVENT_KEY, writeEvents(events), {}, (routed) => {
      this.#hasListeners = routed
    })
  }

  /** Asks the nodes that answer others. `routed`: whether there is one; not called when the question is lost, as no channel is open. */
  ask(body: Buffer, options: PublishOptions, routed: (routed: boolean) => void): void {
    this.#publishMandatory(NODES_KEY, body, options, routed)
  }

  /** To the event exchange, whose queues are bound by key. It is lost when no channel is open. `routed`: whether a queue is bound. */
  #publishMandatory(key: string, body: Buffer, options: PublishOptions, routed: (routed: boolean) => void): void {
    const { channel } = this.#reconnecting
    const messageId = String(++this.#count)
    try {
      channel?.publish(this.#eventExchange, key, body, { contentType: JSON_TYPE, ...options, messageId, mandatory: true }, (error) => {
        const returned = this.#returned.delete(messageId)
        if (error === null) routed(!returned)
      })
    } catch {
      // The channel has just been closed.
    }
  }

  /** Sends an answer now, or when a channel is open. */
  answer(answer: AddressedAnswer): void {
    const { replyTo, body, correlationId, headers } = answer
    if (this.#send('', replyTo, body, { correlationId, headers })) return
    this.#unsentAnswers.push(answer)
    if (this.#unsentAnswers.length > MAX_UNSENT_ANSWERS) this.#unsentAnswers.shift()
  }

  /** Sends a command to the control exchange. It is lost when no channel is open. */
  request(body: Buffer, options: PublishOptions): void {
    this.#send(this.#controlExchange, '', body, options)
  }

  /** False: no channel is open, or it has just been closed. */
  #send(exchange: string, key: string, body: Buffer, options: PublishOptions): boolean {
    const { channel } = this.#reconnecting
    if (channel === undefined) return false
    try {
      channel.publish(exchange, key, body, { contentType: JSON_TYPE, ...options })
      return true
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    this.#flush(false)
    await this.#reconnecting.close()
  }
}
