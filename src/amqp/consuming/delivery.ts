import type { Counts, Delivery, JobHeaders, Settlement, SettleResult } from '../../runtime/delivery.js'
import { CONTENT_TYPE } from '../../runtime/message/job.js'
import { encodeReply } from '../../runtime/message/reply.js'
import { UNCOUNTED_RETURNS } from '../../runtime/retry-policy.js'
import type { AmqpMessage } from '../connection/client.js'
import {
  deadLettered,
  PROGRESS_HEADER,
  readCounts,
  readEarlierReturns,
  readHeaders,
  readKey,
  readMessageId,
  readReturns,
  republished,
} from '../headers/message-headers.js'
import type { ConfirmingPublisher } from '../publishing/confirming-publisher.js'
import type { JobPublisher } from '../publishing/job-publisher.js'
import { MAX_DELAY } from '../topology/delay-steps.js'
import type { Consumer } from './channel-generation.js'
import type { GivenBackJobs } from './given-back.js'

/** The parts that a settlement uses. They are the same for all deliveries of a node. */
export interface SettlementContext {
  readonly node: string
  readonly jobs: JobPublisher
  readonly publisher: ConfirmingPublisher
  readonly givenBack: GivenBackJobs
}

/** ms that the broker may take to confirm the answer to a `call`. */
const REPLY_TIMEOUT = 60_000

type PublishedSettlement = Extract<Settlement, { kind: 'republish' | 'dead-letter' }>

const SETTLED: SettleResult = { settled: true, published: false }
const NOT_SETTLED: SettleResult = { settled: false, published: false }

/** A message of RabbitMQ as the runtime's Delivery. */
export class AmqpDelivery implements Delivery {
  readonly id: string | undefined
  readonly key: string | undefined
  readonly queue: string
  readonly body: Buffer
  readonly headers: JobHeaders
  readonly counts: Counts
  readonly redelivered: boolean
  readonly returned: number
  readonly countedHere: boolean
  readonly gone: AbortSignal
  readonly #message: AmqpMessage
  readonly #consumer: Consumer
  readonly #context: SettlementContext
  #result: SettleResult | Promise<SettleResult> | undefined
  /** The newest progress value. It waits until the value before it is confirmed. */
  #progress: { readonly value: unknown } | undefined
  #sendsProgress = false

  readonly #deliverAgain: () => void

  /**
   * `queue`: the name of the queue in the node's options, whichever of the queues behind it delivered. `deliverAgain`: hands the same message to the
   * node once more.
   */
  constructor(message: AmqpMessage, consumer: Consumer, queue: string, countedHere: boolean, context: SettlementContext, deliverAgain: () => void) {
    this.#deliverAgain = deliverAgain
    this.#message = message
    this.#consumer = consumer
    this.#context = context
    this.id = readMessageId(message)
    this.key = readKey(message)
    this.queue = queue
    this.body = message.content
    this.headers = readHeaders(message)
    this.counts = readCounts(message.properties.headers)
    this.returned = readReturns(message)
    const { redelivered } = message.fields
    // A copy of a message that came back has been delivered before, and is counted: an outcome that a node remembers for it is its own.
    this.redelivered = redelivered || this.returned > 0
    this.countedHere = countedHere && redelivered
    this.gone = consumer.generation.gone
  }

  get maxDelay(): number {
    return MAX_DELAY
  }

  settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    // Only once: if a tag is settled again, RabbitMQ closes the channel with all its deliveries.
    this.#result ??= this.#settle(settlement)
    return this.#result
  }

  #settle(settlement: Settlement): SettleResult | Promise<SettleResult> {
    if (settlement.kind === 'acknowledge' || settlement.kind === 'revoked') return this.#settleOnChannel('ack') ? SETTLED : NOT_SETTLED
    if (settlement.kind !== 'requeue') return this.#publishAndAcknowledge(settlement)
    return this.returned === 0 && settlement.uncounted !== true ? this.#requeue() : this.#publishUnchanged()
  }

  #requeue(): SettleResult {
    return this.#settleOnChannel('requeue') ? SETTLED : NOT_SETTLED
  }

  /**
   * RabbitMQ 3 counts what is requeued, or was on its way to a consumer that is cancelled, as it counts what comes back from a node that died:
   * a job that is given back unbegun would pass for one that ends its nodes. Published again, it is as suspicious as it was: what it had come
   * back by before is kept, and what this queue has counted since makes it run alone and is no loss.
   */
  async #publishUnchanged(): Promise<SettleResult> {
    if (this.gone.aborted) return NOT_SETTLED
    const { queue, body, counts, headers, returned } = this
    const returns = Math.max(readEarlierReturns(this.#message), Math.min(returned, UNCOUNTED_RETURNS))
    const options = republished(this.#message, { delay: 0, counts, history: headers.history }, returns)
    const job = {
      gone: this.gone,
      publish: () => this.#context.jobs.publish({ queue, body, options }),
      acknowledge: () => this.#settleOnChannel('ack'),
      deliverAgain: this.#deliverAgain,
    }
    try {
      if (await this.#context.givenBack.giveBack(job)) return { settled: job.acknowledge(), published: true }
      return SETTLED
    } catch {
      return this.#requeue()
    }
  }

  async #publishAndAcknowledge(settlement: PublishedSettlement): Promise<SettleResult> {
    // RabbitMQ redelivers the message, so a republished copy would be a second job.
    if (this.gone.aborted) return NOT_SETTLED
    try {
      await this.#publish(settlement)
    } catch (error) {
      // The delivery is not settled: the runtime may try again, or requeue it.
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
    const { delay, why } = settlement
    // A run that has ended shows that the job ends no node.
    const returns = why === 'untried' || why === 'unknown_task' ? this.returned : 0
    return this.#context.jobs.publish({ queue: this.queue, body: this.body, options: republished(this.#message, settlement, returns), delay })
  }

  progress(value: unknown): void {
    if (this.#message.properties.headers?.[PROGRESS_HEADER] !== true || this.headers.replyTo === undefined) return
    this.#progress = { value }
    if (!this.#sendsProgress) void this.#sendProgress()
  }

  async #sendProgress(): Promise<void> {
    this.#sendsProgress = true
    // The last progress of a job is of no use once the job is settled.
    for (let next = this.#progress; next !== undefined && this.#result === undefined; next = this.#progress) {
      this.#progress = undefined
      // A value that a message cannot carry, or that RabbitMQ refuses, is left out: progress is not guaranteed.
      await this.#reply(() => encodeReply({ ok: true, value: next.value }), { ok: true, [PROGRESS_HEADER]: true }).catch(() => {})
    }
    this.#sendsProgress = false
  }

  async #reply(body: () => Buffer, headers: Readonly<Record<string, unknown>>): Promise<void> {
    const { replyTo, correlationId } = this.headers
    if (replyTo === undefined) return
    const options = { contentType: CONTENT_TYPE, correlationId: correlationId ?? this.id, headers }
    await this.#context.publisher.publish({ exchange: '', key: replyTo, body: body(), options, resend: true, timeout: REPLY_TIMEOUT })
  }

  async reply(body: Buffer, { ok }: { ok: boolean }): Promise<void> {
    await this.#reply(() => body, { ok })
  }
}
