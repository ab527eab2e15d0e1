/** Publishes to job queues, delay queues and dead letters: makes the queue that is missing, once, and tries again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '../../util/with-timeout.js'
import type { AdminChannel } from '../connection/admin-channel.js'
import type { PublishOptions } from '../connection/client.js'
import { PublishError, UnroutableError } from '../errors.js'
import { DelayQueues } from '../topology/delay-queues.js'
import { MAX_DELAY } from '../topology/delay-steps.js'
import { deadLetterQueue, declareQueue, type QueueShape, queueFor } from '../topology/topology.js'
import type { ConfirmingPublisher } from './confirming-publisher.js'

export interface JobPublication {
  readonly queue: string
  readonly body: Buffer
  readonly options: PublishOptions
  /** ms */
  readonly delay?: number | undefined
  /** ms for all of it; undefined for as long as it takes. */
  readonly timeout?: number | undefined
  /** See Publication. Default true. */
  readonly resend?: boolean
  readonly written?: (() => void) | undefined
}

/**
 * ms that a missing quorum queue stays missing. RabbitMQ 3 cancels the consumers of one that was deleted some 50 ms later; where a queue of
 * that name is there again by then, it counts them as its own instead, tells nobody, and delivers nothing to them.
 */
const GONE_FOR = 500

type Sending = Pick<JobPublication, 'body' | 'options' | 'timeout' | 'resend' | 'written'>

export class JobPublisher {
  readonly #publisher: ConfirmingPublisher
  readonly #errands: AdminChannel
  readonly #delays: DelayQueues
  readonly #shape: QueueShape

  constructor(publisher: ConfirmingPublisher, errands: AdminChannel, shape: QueueShape) {
    this.#publisher = publisher
    this.#errands = errands
    this.#delays = new DelayQueues(errands)
    this.#shape = shape
  }

  /** Resolves when a queue has the job. Rejects as `ConfirmingPublisher.publish`. */
  async publish({ queue, delay, ...sending }: JobPublication): Promise<void> {
    const target = queueFor(queue, sending.options.priority, this.#shape)
    if (delay === undefined || delay <= 0) return this.#mandatory(queue, target, sending)
    // A longer wait than the ladder has comes from a backoff without a bound: it waits as long as anything can.
    const wait = Math.min(delay, MAX_DELAY)
    // It may leave before its step is over when nothing stands before it, and never before its own time.
    const waiting = { ...sending, options: { ...sending.options, expiration: String(Math.ceil(wait)) } }
    const step = await this.#within(sending.timeout, target, this.#delays.open(target, wait))
    try {
      await this.#send(step, waiting)
    } catch (error) {
      if (!(error instanceof UnroutableError)) throw error
      this.#delays.forget(step)
      await this.#send(await this.#within(sending.timeout, target, this.#delays.open(target, wait)), waiting)
    }
  }

  /** Resolves when the dead letters of `queue` have the message. */
  deadLetter(queue: string, body: Buffer, options: PublishOptions): Promise<void> {
    return this.#mandatory(queue, deadLetterQueue(queue), { body, options })
  }

  async #mandatory(base: string, target: string, sending: Sending): Promise<void> {
    try {
      await this.#send(target, sending)
    } catch (error) {
      if (!(error instanceof UnroutableError) || !this.#shape.declare) throw error
      // Nobody has made it yet, or somebody has deleted it.
      await this.#within(sending.timeout, target, this.#make(base))
      await this.#send(target, sending)
    }
  }

  async #make(base: string): Promise<void> {
    if (this.#shape.queueType === 'quorum') await sleep(GONE_FOR)
    await this.#errands.run((channel) => declareQueue(channel, base, this.#shape))
  }

  /** A queue that must be made first waits for the broker no longer than the publication may. */
  async #within<T>(timeout: number | undefined, queue: string, made: Promise<T>): Promise<T> {
    if (timeout === undefined) return made
    return withTimeout(made, timeout, () => {
      throw new PublishError(`The message for the queue '${queue}' was given up after ${timeout} ms: RabbitMQ could not be reached.`, 'no')
    })
  }

  #send(queue: string, { body, options, timeout, resend = true, written }: Sending): Promise<void> {
    return this.#publisher.publish({ exchange: '', key: queue, body, options: { ...options, persistent: true, mandatory: true }, resend, timeout, written })
  }
}
