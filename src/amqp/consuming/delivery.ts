/** A message as the runtime sees it. */
import type { Counts, Delivery, JobHeaders, Settlement, SettleResult } from '../../runtime/delivery.js'
import { CONTENT_TYPE } from '../../runtime/message/index.js'
import type { AmqpMessage } from '../connection/client.js'
import { deadLettered, readCounts, readHeaders, readMessageId, republished } from '../headers/message-headers.js'
import type { ConfirmingPublisher } from '../publishing/confirming-publisher.js'
import type { JobPublisher } from '../publishing/job-publisher.js'
import type { Consumer } from './generation.js'

/** What settling needs, the same for all deliveries of a node. */
export interface SettlementContext {
  readonly node: string
  readonly jobs: JobPublisher
  readonly publisher: ConfirmingPublisher
}

/** ms that an answer to a `call` may take to be confirmed: nobody waits for it for ever. */
const REPLY_TIMEOUT = 60_000

type Publishing = Extract<Settlement, { kind: 'republish' | 'dead-letter' }>

const SETTLED: SettleResult = { settled: true, published: false }
const NOT_SETTLED: SettleResult = { settled: false, published: false }

export class AmqpDelivery implements Delivery {
  readonly id: string | undefined
  readonly queue: string
  readonly body: Buffer
  readonly headers: JobHeaders
  readonly counts: Counts
  readonly redelivered: boolean
  readonly countedHere: boolean
  readonly gone: AbortSignal
  readonly #message: AmqpMessage
  readonly #consumer: Consumer
  readonly #desk: SettlementContext
  #result: SettleResult | Promise<SettleResult> | undefined

  /** `queue`: the name that the node was given, whichever of the queues behind it delivered. */
  constructor(message: AmqpMessage, consumer: Consumer, queue: string, countedHere: boolean, desk: SettlementContext) {
    this.#message = message
    this.#consumer = consumer
    this.#desk = desk
    this.id = readMessageId(message)
    this.queue = queue
    this.body = message.content
    this.headers = readHeaders(message)
    this.counts = readCounts(message.properties.headers)
    this.redelivered = message.fields.redelivered
    this.countedHere = countedHere
    this.gone = consumer.generation.gone
  }

  settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    // A second one would acknowledge a tag that the broker does not know, and end the channel with all that it holds.
    this.#result ??= this.#settle(settlement)
    return this.#result
  }

  #settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    if (settlement.kind === 'acknowledge') return this.#leave('ack') ? SETTLED : NOT_SETTLED
    if (settlement.kind === 'requeue') return this.#leave('requeue') ? SETTLED : NOT_SETTLED
    return this.#publishAndAcknowledge(settlement)
  }

  async #publishAndAcknowledge(settlement: Publishing): Promise<SettleResult> {
    // It comes back as it was: a second copy would be one too many.
    if (this.gone.aborted) return NOT_SETTLED
    try {
      await this.#publish(settlement)
    } catch (error) {
      // Not settled: it may be tried again, or given back.
      this.#result = undefined
      throw error
    }
    return { settled: this.#leave('ack'), published: true }
  }

  #leave(how: 'ack' | 'requeue'): boolean {
    return this.#consumer.generation.settle(this.#message, this.#consumer, how)
  }

  #publish(settlement: Publishing): Promise<void> {
    if (settlement.kind === 'dead-letter')
      return this.#desk.jobs.deadLetter(this.queue, this.body, deadLettered(this.#message, this.queue, this.#desk.node, settlement))
    const { delay } = settlement
    return this.#desk.jobs.publish({ queue: this.queue, body: this.body, options: republished(this.#message, settlement), delay })
  }

  async reply(body: Buffer, { ok }: { ok: boolean }): Promise<void> {
    const { replyTo, correlationId } = this.headers
    if (replyTo === undefined) return
    const options = { contentType: CONTENT_TYPE, correlationId: correlationId ?? this.id, headers: { ok } }
    await this.#desk.publisher.publish({ exchange: '', key: replyTo, body, options, resend: true, timeout: REPLY_TIMEOUT })
  }
}
