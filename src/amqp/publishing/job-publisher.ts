import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '../../util/with-timeout.js'
import type { AdminChannel } from '../connection/admin-channel.js'
import type { PublishOptions } from '../connection/client.js'
import { PublishError, UnroutableError } from '../errors.js'
import { DelayQueues } from '../topology/delay-queues.js'
import { MAX_DELAY } from '../topology/delay-steps.js'
import { deadLetterQueue, declareQueue, type QueueShape, queueFor } from '../topology/topology.js'
import type { ConfirmingPublisher, Publication, PublicationEnd } from './confirming-publisher.js'

export interface JobPublication {
  readonly queue: string
  readonly body: Buffer
  readonly options: PublishOptions
  /** ms */
  readonly delay?: number | undefined
  /** ms for the whole publication; undefined: no limit. */
  readonly timeout?: number | undefined
  /** As in Publication. Default true. */
  readonly resend?: boolean
  readonly written?: (() => void) | undefined
}

/**
 * ms to wait before a missing quorum queue is declared again. RabbitMQ 3 cancels the consumers of a deleted queue some 50 ms after the
 * deletion. If a queue of that name exists again by then, RabbitMQ sends no cancellation, and the new queue delivers nothing to these consumers.
 */
const REDECLARE_DELAY = 500

type SendOptions = Pick<JobPublication, 'body' | 'options' | 'timeout' | 'resend' | 'written'>

/** Publishes to job queues, delay queues and dead-letter queues. A queue that is missing is declared, once, and the message published again. */
export class JobPublisher {
  readonly #publisher: ConfirmingPublisher
  readonly #admin: AdminChannel
  readonly #delays: DelayQueues
  readonly #shape: QueueShape

  constructor(publisher: ConfirmingPublisher, admin: AdminChannel, shape: QueueShape) {
    this.#publisher = publisher
    this.#admin = admin
    this.#delays = new DelayQueues(admin)
    this.#shape = shape
  }

  /** As `publish`, without a promise where the job is stored as it should be. `end` may be called at once. */
  send(publication: JobPublication, end: PublicationEnd): void {
    const { queue, delay, options } = publication
    if (delay !== undefined && delay > 0) {
      this.publish(publication).then(() => end(), end)
      return
    }
    const target = queueFor(queue, options.priority, this.#shape)
    this.#publisher.send(toQueue(target, publication), (error) => {
      if (error instanceof UnroutableError && this.#shape.declare) this.#declareAndSend(queue, target, publication).then(() => end(), end)
      else end(error)
    })
  }

  /** Resolves when a queue has stored the job. Rejects as `ConfirmingPublisher.publish`. */
  publish(publication: JobPublication): Promise<void> {
    const { queue, delay, options } = publication
    const target = queueFor(queue, options.priority, this.#shape)
    return delay === undefined || delay <= 0 ? this.#mandatory(queue, target, publication) : this.#publishDelayed(target, delay, publication)
  }

  async #publishDelayed(target: string, delay: number, sending: SendOptions): Promise<void> {
    // A backoff without a maximum can exceed the longest step.
    const wait = Math.min(delay, MAX_DELAY)
    // The message's own expiration may be shorter than the step's: at the head of the queue it leaves after its exact delay.
    const delayed = { ...sending, options: { ...sending.options, expiration: String(Math.ceil(wait)) } }
    const step = await this.#within(sending.timeout, target, this.#delays.ensure(target, wait))
    try {
      await this.#send(step, delayed)
    } catch (error) {
      if (!(error instanceof UnroutableError)) throw error
      this.#delays.forget(step)
      await this.#send(await this.#within(sending.timeout, target, this.#delays.ensure(target, wait)), delayed)
    }
  }

  /** Resolves when the dead-letter queue of `queue` has stored the message. */
  deadLetter(queue: string, body: Buffer, options: PublishOptions): Promise<void> {
    return this.#mandatory(queue, deadLetterQueue(queue), { body, options })
  }

  async #mandatory(base: string, target: string, sending: SendOptions): Promise<void> {
    try {
      await this.#send(target, sending)
    } catch (error) {
      if (!(error instanceof UnroutableError) || !this.#shape.declare) throw error
      await this.#declareAndSend(base, target, sending)
    }
  }

  /** The queue was never declared, or it was deleted. */
  async #declareAndSend(base: string, target: string, sending: SendOptions): Promise<void> {
    await this.#within(sending.timeout, target, this.#declare(base))
    await this.#send(target, sending)
  }

  async #declare(base: string): Promise<void> {
    if (this.#shape.queueType === 'quorum') await sleep(REDECLARE_DELAY)
    await this.#admin.run((channel) => declareQueue(channel, base, this.#shape))
  }

  /** Bounds the declaration of a queue by the time limit of the publication. */
  async #within<T>(timeout: number | undefined, queue: string, declared: Promise<T>): Promise<T> {
    if (timeout === undefined) return declared
    return withTimeout(declared, timeout, () => {
      throw new PublishError(`The message for the queue '${queue}' was given up after ${timeout} ms: RabbitMQ could not be reached.`, 'no')
    })
  }

  #send(queue: string, sending: SendOptions): Promise<void> {
    return this.#publisher.publish(toQueue(queue, sending))
  }
}

const toQueue = (queue: string, { body, options, timeout, resend = true, written }: SendOptions): Publication => {
  const stored = options.persistent === true && options.mandatory === true ? options : { ...options, persistent: true, mandatory: true }
  return { exchange: '', key: queue, body, options: stored, resend, timeout, written }
}
