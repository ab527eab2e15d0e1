import type { Counts, Delivery, JobHeaders, Settlement, SettleResult } from '../../runtime/delivery.js'
import { CONTENT_TYPE } from '../../runtime/message/job.js'
import type { AmqpMessage } from '../connection/client.js'
import { deadLettered, readCounts, readHeaders, readMessageId, republished } from '../headers/message-headers.js'
import type { ConfirmingPublisher } from '../publishing/confirming-publisher.js'
import type { JobPublisher } from '../publishing/job-publisher.js'
import type { Consumer } from './generation.js'

/** What a settlement uses; the same for all deliveries of a node. */
export interface SettlementContext {
  readonly node: string
  readonly jobs: JobPublisher
  readonly publisher: ConfirmingPublisher
}

/** ms that the broker may take to confirm the answer to a `call`. */
const REPLY_TIMEOUT = 60_000

type PublishedSettlement = Extract<Settlement, { kind: 'republish' | 'dead-letter' }>

const SETTLED: SettleResult = { settled: true, published: false }
const NOT_SETTLED: SettleResult = { settled: false, published: false }

/** A message of RabbitMQ as the runtime's Delivery. */
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
  readonly #context: SettlementContext
  #result: SettleResult | Promise<SettleResult> | undefined

  /** `queue`: the name of the queue in the node's options, whichever of the queues behind it delivered. */
  constructor(message: AmqpMessage, consumer: Consumer, queue: string, countedHere: boolean, context: SettlementContext) {
    this.#message = message
    this.#consumer = consumer
    this.#context = context
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
    // Once: RabbitMQ closes the channel, with all its deliveries, for a tag that is settled already.
    this.#result ??= this.#settle(settlement)
    return this.#result
  }

  #settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    if (settlement.kind === 'acknowledge') return this.#settleOnChannel('ack') ? SETTLED : NOT_SETTLED
    if (settlement.kind === 'requeue') return this.#settleOnChannel('requeue') ? SETTLED : NOT_SETTLED
    return this.#publishAndAcknowledge(settlement)
  }

  async #publishAndAcknowledge(settlement: PublishedSettlement): Promise<SettleResult> {
    // RabbitMQ redelivers it: a copy would be a second job.
    if (this.gone.aborted) return NOT_SETTLED
    try {
      await this.#publish(settlement)
    } catch (error) {
      // Not settled: the runtime may try again, or requeue it.
      this.#result = undefined
      throw error
    }
    return { settled: this.#settleOnChannel('ack'), published: true }
  }

  #settleOnChannel(how: 'ack' | 'requeue'): boolean {
    return this.#consumer.generation.settle(this.#message, this.#consumer, how)
  }

  #publish(settlement: PublishedSettlement): Promise<void> {
    if (settlement.kind === 'dead-letter')
      return this.#context.jobs.deadLetter(this.queue, this.body, deadLettered(this.#message, this.queue, this.#context.node, settlement))
    const { delay } = settlement
    return this.#context.jobs.publish({ queue: this.queue, body: this.body, options: republished(this.#message, settlement), delay })
  }

  async reply(body: Buffer, { ok }: { ok: boolean }): Promise<void> {
    const { replyTo, correlationId } = this.headers
    if (replyTo === undefined) return
    const options = { contentType: CONTENT_TYPE, correlationId: correlationId ?? this.id, headers: { ok } }
    await this.#context.publisher.publish({ exchange: '', key: replyTo, body, options, resend: true, timeout: REPLY_TIMEOUT })
  }
}
