/**
 * What a node says: its events, many in one message, and its answers. A message for each event would cost a node under load more
 * than the jobs that it tells of.
 */
import type { FarmEvent } from '../../runtime/report/report.js'
import { SteadyChannel } from '../connection/channel.js'
import type { AmqpMessage, PublishOptions } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { declareExchanges } from '../topology/topology.js'
import { EVENT_KEY, JSON_TYPE, writeEvents } from './messages.js'

/** ms that an event may wait for others. */
const GATHER = 50
/** Events in one message, at the most. */
const MAX_EVENTS = 500
/** Answers that wait for a channel, at the most: whoever asked gives up after a while. */
const MAX_UNSENT = 20

interface UnsentAnswer {
  readonly replyTo: string
  readonly body: Buffer
  readonly correlationId: string | undefined
}

export interface EventPublisherSettings {
  readonly controlExchange: string
  readonly eventExchange: string
  opened(): void
  failed(error: Error): void
}

export class EventPublisher {
  readonly #controlExchange: string
  readonly #eventExchange: string
  readonly #steady: SteadyChannel
  #gathered: FarmEvent[] = []
  #timer: NodeJS.Timeout | undefined
  /** A queue is bound, as far as is known: what nobody would get is not encoded. */
  #heard = true
  /** Messages that came back, because no queue was bound; each is confirmed afterwards. */
  readonly #returned = new Set<string>()
  #count = 0
  /** Commands come over another connection, which may be there before this one can speak. */
  #unsent: UnsentAnswer[] = []

  /** `connection`: the one that publishes. An alarm of the broker's stops whoever publishes, and must not stop acknowledgements. */
  constructor(connection: SteadyConnection, { controlExchange, eventExchange, opened, failed }: EventPublisherSettings) {
    this.#controlExchange = controlExchange
    this.#eventExchange = eventExchange
    this.#steady = new SteadyChannel(connection, {
      confirm: true,
      setup: async (channel) => {
        channel.on('return', ({ properties }: AmqpMessage) => {
          if (properties.messageId !== undefined) this.#returned.add(properties.messageId)
        })
        await declareExchanges(channel, controlExchange, eventExchange)
      },
      opened: () => {
        this.listened()
        for (const answer of this.#unsent.splice(0)) this.#answer(answer)
        opened()
      },
      gone: () => this.#returned.clear(),
      failed,
    })
  }

  /** Somebody may listen from now on. */
  listened(): void {
    this.#heard = true
  }

  get heard(): boolean {
    return this.#heard
  }

  /** Lost when nobody listens or the broker is away. */
  publish(event: FarmEvent): void {
    this.#gathered.push(event)
    // Heartbeats go out whether or not anybody listens: by them a listener that has not announced itself is found.
    if (event.type === 'node.heartbeat') this.#flush(true)
    else if (this.#gathered.length >= MAX_EVENTS) this.#flush(false)
    else this.#timer ??= setTimeout(() => this.#flush(false), GATHER)
  }

  #flush(asked: boolean): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#gathered
    this.#gathered = []
    const { channel } = this.#steady
    if (events.length === 0 || channel === undefined || !(this.#heard || asked)) return
    const messageId = String(++this.#count)
    try {
      channel.publish(this.#eventExchange, EVENT_KEY, writeEvents(events), { contentType: JSON_TYPE, messageId, mandatory: true }, (error) => {
        const returned = this.#returned.delete(messageId)
        if (error === null) this.#heard = !returned
      })
    } catch {
      // The channel has gone in this very moment: what is said is lost, as it is when nobody listens.
    }
  }

  /** At once, or when there is a channel for it. */
  answer(replyTo: string, body: Buffer, correlationId: string | undefined): void {
    this.#answer({ replyTo, body, correlationId })
  }

  #answer(answer: UnsentAnswer): void {
    const { replyTo, body, correlationId } = answer
    if (this.#send('', replyTo, body, { correlationId })) return
    this.#unsent.push(answer)
    if (this.#unsent.length > MAX_UNSENT) this.#unsent.shift()
  }

  /** Asks other nodes; lost where it cannot be sent. */
  ask(body: Buffer, options: PublishOptions): void {
    this.#send(this.#controlExchange, '', body, options)
  }

  /** False: there is no channel for it just now. */
  #send(exchange: string, key: string, body: Buffer, options: PublishOptions): boolean {
    const { channel } = this.#steady
    if (channel === undefined) return false
    try {
      channel.publish(exchange, key, body, { contentType: JSON_TYPE, ...options })
      return true
    } catch {
      // The channel has gone in this very moment.
      return false
    }
  }

  async close(): Promise<void> {
    this.#flush(false)
    await this.#steady.close()
  }
}
