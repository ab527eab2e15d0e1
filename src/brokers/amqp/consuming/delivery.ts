/** A message as the runtime sees it. */
import type { Counts, Delivery, JobHeaders, Settlement, SettleResult } from '../../../runtime/delivery.js'
import { CONTENT_TYPE } from '../../../runtime/message/index.js'
import type { AmqpMessage } from '../connection/client.js'
import { buried, readCounts, readHeaders, republished } from '../message-headers.js'
import type { ConfirmingPublisher } from '../publishing/confirming-publisher.js'
import type { JobPublisher } from '../publishing/job-publisher.js'
import type { Generation } from './generation.js'

/** What settling needs, the same for all deliveries of a node. */
export interface Desk {
  readonly node: string
  readonly jobs: JobPublisher
  readonly publisher: ConfirmingPublisher
}

/** ms that an answer to a `call` may take to be confirmed: nobody waits for it for ever. */
const REPLY_TIMEOUT = 60_000

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
  readonly #generation: Generation
  readonly #desk: Desk
  #result: Promise<SettleResult> | undefined

  /** `queue`: the name that the node was given, whichever of the queues behind it delivered. */
  constructor(message: AmqpMessage, generation: Generation, queue: string, countedHere: boolean, desk: Desk) {
    this.#message = message
    this.#generation = generation
    this.#desk = desk
    this.id = message.properties.messageId
    this.queue = queue
    this.body = message.content
    this.headers = readHeaders(message)
    this.counts = readCounts(message.properties.headers)
    this.redelivered = message.fields.redelivered
    this.countedHere = countedHere
    this.gone = generation.gone
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    // A second one would acknowledge a tag that the broker does not know, and end the channel with all that it holds.
    this.#result ??= this.#settle(settlement)
    return this.#result
  }

  async #settle(settlement: Settlement): Promise<SettleResult> {
    if (settlement.kind === 'acknowledge') return { settled: this.#generation.settle(this.#message, 'ack'), published: false }
    if (settlement.kind === 'requeue') return { settled: this.#generation.settle(this.#message, 'requeue'), published: false }
    // It comes back as it was: a second copy would be one too many.
    if (this.gone.aborted) return { settled: false, published: false }
    try {
      await this.#publish(settlement)
    } catch (error) {
      // Not settled: it may be tried again, or given back.
      this.#result = undefined
      throw error
    }
    return { settled: this.#generation.settle(this.#message, 'ack'), published: true }
  }

  #publish(settlement: Extract<Settlement, { kind: 'republish' | 'dead-letter' }>): Promise<void> {
    if (settlement.kind === 'dead-letter') return this.#desk.jobs.bury(this.queue, this.body, buried(this.#message, this.queue, this.#desk.node, settlement))
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
