import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolLogger } from '../pool/types.js'
import { exponentialDelay } from '../util/backoff.js'
import { ACKNOWLEDGE, type Delivery, type JobAnswer, notifyEnded, type Settlement, type SettleResult } from './delivery.js'

/** The outcome of a job. Kept until the broker has taken its settlement, and longer to recognise redeliveries. */
export interface Outcome {
  settlement: Settlement
  /** Only for a broker that keeps answers. */
  readonly answer?: JobAnswer | undefined
  /** Counts, logs and reports how the job has ended. Called once, when the broker has taken the settlement. */
  onSettled?: (() => void) | undefined
  /** Whether a redelivery of the job will be recognised. */
  readonly remembered: boolean
  /** The reply for `replyTo` until it is sent. Also absent when it was dropped because too many wait. */
  reply: { readonly body: Buffer; readonly ok: boolean } | undefined
  /** The settlement in progress. A redelivery waits for it. */
  settling: Promise<void> | undefined
}

/** Attempts to settle before the message is requeued, and the first and longest delay between them, ms. */
const ATTEMPTS = 6
const FIRST_DELAY = 200
const MAX_DELAY = 30_000
/** The longest delay between two tries when the refusal is transient, ms. */
const MAX_TRANSIENT_DELAY = 500

/** Sends settlements to the broker. A refused settlement is tried again, and at last the delivery is requeued: no delivery is dropped. */
export class Settler {
  readonly #log: PoolLogger | undefined
  readonly #unsent: UnsentReplies
  readonly #inProgress = new Set<Promise<void>>()
  readonly #noRetries = new AbortController()
  readonly #onNotSettled: (outcome: Outcome, delivery: Delivery | undefined) => void
  /** Deliveries requeued so far, because they had not begun or because the broker refused their settlement. */
  requeued = 0
  /** Deliveries that had not begun, and that the broker could not take back. */
  left = 0

  /**
   * `onNotSettled`: called when the broker took no settlement of a job: it refused each, or the deliveries are gone. What becomes of the job is the broker's.
   * Its delivery: the first of those that were to be settled.
   */
  constructor(log: PoolLogger | undefined, unsent: UnsentReplies, onNotSettled: (outcome: Outcome, delivery: Delivery | undefined) => void = () => {}) {
    this.#log = log
    this.#unsent = unsent
    this.#onNotSettled = onNotSettled
  }

  /** Settlements in progress. */
  get size(): number {
    return this.#inProgress.size
  }

  /** Resolves when no settlement is in progress. */
  async idle(): Promise<void> {
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress)
  }

  /** From now on a refused settlement is not tried again: the delivery is requeued at once. */
  stopRetrying(): void {
    this.#noRetries.abort()
  }

  /** Settles all deliveries of one job: the first live delivery with the outcome's settlement, the others by acknowledgement. */
  settle(deliveries: readonly Delivery[], outcome: Outcome): void {
    const before = outcome.settling
    const [only] = deliveries
    if (before === undefined && deliveries.length === 1 && outcome.settlement.kind === 'acknowledge') this.#acknowledge(only!, outcome)
    else this.#track(before === undefined ? this.#settleAll(deliveries, outcome) : before.then(() => this.#settleAll(deliveries, outcome)), outcome)
  }

  /** The usual case. It creates no promise where the broker needs none. */
  #acknowledge(delivery: Delivery, outcome: Outcome): void {
    if (delivery.gone.aborted) {
      this.#unsent.add(outcome)
      notifyEnded(delivery)
      this.#reportSettled(outcome, delivery, false)
      return
    }
    this.#reply(delivery, outcome)
    let result: SettleResult | Promise<SettleResult>
    try {
      result = delivery.settle(outcome.settlement, outcome.answer)
    } catch (error) {
      result = Promise.reject(error)
    }
    if (result instanceof Promise) this.#awaitFirst(delivery, outcome, result)
    else this.#reportSettled(outcome, delivery, result.settled)
  }

  /** An acknowledgement that is taken at the first attempt costs one promise. */
  #awaitFirst(delivery: Delivery, outcome: Outcome, first: Promise<SettleResult>): void {
    const work: Promise<void> = first.then(
      ({ settled, published }) => {
        this.#over(work, outcome)
        this.#reportSettled(outcome, delivery, published || settled)
      },
      async () => {
        try {
          this.#reportSettled(outcome, delivery, await this.#settleOne(delivery, outcome.settlement, outcome.answer, first))
        } finally {
          this.#over(work, outcome)
        }
      },
    )
    this.#begun(work, outcome)
  }

  /** `done`: the broker has taken the settlement. Calls the outcome's `onSettled` or `onNotSettled`. */
  #reportSettled(outcome: Outcome, delivery: Delivery | undefined, done: boolean): void {
    const { onSettled } = outcome
    if (onSettled === undefined) return
    if (!done) {
      this.#onNotSettled(outcome, delivery)
      return
    }
    outcome.onSettled = undefined
    onSettled()
  }

  #track(settled: Promise<unknown>, outcome: Outcome): void {
    const work: Promise<void> = settled.then(() => {}).finally(() => this.#over(work, outcome))
    this.#begun(work, outcome)
  }

  /** Adds a settlement to those that `idle` waits for. */
  #begun(work: Promise<void>, outcome: Outcome): void {
    outcome.settling = work
    this.#inProgress.add(work)
  }

  #over(work: Promise<void>, outcome: Outcome): void {
    this.#inProgress.delete(work)
    if (outcome.settling === work) outcome.settling = undefined
  }

  async #settleAll(deliveries: readonly Delivery[], outcome: Outcome): Promise<void> {
    if (deliveries.every(({ gone }) => gone.aborted)) this.#unsent.add(outcome)
    let settled = false
    for (const delivery of deliveries) {
      if (delivery.gone.aborted) {
        notifyEnded(delivery)
        continue
      }
      this.#reply(delivery, outcome)
      const { settlement } = outcome
      const done = await this.#settleOne(delivery, settlement, outcome.answer)
      settled ||= done
      // The other deliveries of the job are acknowledged, which removes them.
      if (done && settlement.kind !== 'requeue') outcome.settlement = ACKNOWLEDGE
    }
    this.#reportSettled(outcome, deliveries[0], settled)
  }

  /** Resolves with true when the broker has taken the settlement: its republication or dead letter is stored, or none was needed. */
  async #settleOne(delivery: Delivery, settlement: Settlement, answer: JobAnswer | undefined, first?: Promise<SettleResult>): Promise<boolean> {
    let signal: AbortSignal | undefined
    for (let tries = 1; ; tries++) {
      let transient = false
      try {
        const result = await (tries === 1 && first !== undefined ? first : delivery.settle(settlement, answer))
        if (settlement.kind === 'requeue') this.#countRequeue(result)
        return result.published || result.settled
      } catch (error) {
        transient = isTransient(error)
        const about = { job: delivery.id, queue: delivery.queue, settlement: settlement.kind, tries, err: error }
        // A transient refusal can last for hours and is retried every 500 ms. Debug level keeps the log short.
        if (transient) this.#log?.debug(about, 'the broker cannot take a settlement just now')
        else this.#log?.error(about, 'the broker refused a settlement')
      }
      if (!delivery.gone.aborted) {
        if ((tries >= ATTEMPTS && !transient) || this.#noRetries.signal.aborted) return this.#requeue(delivery)
        // Create one signal for all tries: a node-wide source signal keeps every dependent signal alive.
        signal ??= AbortSignal.any([delivery.gone, this.#noRetries.signal])
        await sleep(exponentialDelay(tries, FIRST_DELAY, transient ? MAX_TRANSIENT_DELAY : MAX_DELAY), undefined, { signal }).catch(() => {})
      }
      if (delivery.gone.aborted) {
        notifyEnded(delivery)
        return false
      }
    }
  }

  #countRequeue({ settled, left }: SettleResult): void {
    if (settled) this.requeued++
    else if (left === true) this.left++
  }

  /** The broker delivers the message again. If it comes to this node, the remembered outcome is settled again. */
  async #requeue(delivery: Delivery): Promise<false> {
    try {
      this.#countRequeue(await delivery.settle({ kind: 'requeue' }))
      this.#log?.error({ job: delivery.id, queue: delivery.queue }, 'a delivery was given back because its settlement was refused')
    } catch (error) {
      this.#log?.error(
        { job: delivery.id, queue: delivery.queue, err: error },
        'a delivery could not even be given back: it stays unsettled until its connection ends',
      )
      notifyEndedWhenGone(delivery)
    }
    return false
  }

  #reply(delivery: Delivery, outcome: Outcome): void {
    const { reply } = outcome
    if (reply === undefined) return
    this.#unsent.remove(outcome)
    delivery.reply(reply.body, { ok: reply.ok }).then(
      () => {
        outcome.reply = undefined
        this.#unsent.remove(outcome)
      },
      (error: unknown) => {
        this.#log?.warn({ job: delivery.id, err: error }, 'the answer to a job could not be sent')
        this.#unsent.add(outcome)
      },
    )
  }
}

const isTransient = (error: unknown): boolean => (error as { transient?: unknown } | null | undefined)?.transient === true

const notifyEndedWhenGone = (delivery: Delivery): void => {
  if (delivery.ended === undefined) return
  if (delivery.gone.aborted) notifyEnded(delivery)
  else delivery.gone.addEventListener('abort', () => notifyEnded(delivery), { once: true })
}

/** Bytes of replies that may wait. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024

/**
 * Replies in remembered outcomes that could not be sent: their channel was gone, or the broker refused them. They are sent when the job is
 * delivered again. Bounded in number and bytes, the oldest is dropped first. A dropped reply lets its caller run into a timeout; the
 * outcome stays and settles the job when it is delivered again.
 */
export class UnsentReplies {
  readonly #log: PoolLogger | undefined
  readonly #max: number
  /** Bytes by outcome, the oldest first. */
  readonly #replies = new Map<Outcome, number>()
  #bytes = 0
  #warned = false

  /** `max`: the number of replies. */
  constructor(log: PoolLogger | undefined, max: number) {
    this.#log = log
    this.#max = max
  }

  /** The reply could not be sent. A job that is not recognised when it is delivered again needs no reply. */
  add(outcome: Outcome): void {
    this.remove(outcome)
    const { reply, remembered } = outcome
    if (reply === undefined || !remembered) return
    this.#replies.set(outcome, reply.body.length)
    this.#bytes += reply.body.length
    for (const oldest of this.#replies.keys()) {
      if (this.#bytes <= MAX_UNSENT_BYTES && this.#replies.size <= this.#max) break
      if (this.#bytes > MAX_UNSENT_BYTES) this.#warn()
      this.remove(oldest)
      oldest.reply = undefined
    }
  }

  /** The reply is being sent. */
  remove(outcome: Outcome): void {
    this.#bytes -= this.#replies.get(outcome) ?? 0
    this.#replies.delete(outcome)
  }

  #warn(): void {
    if (this.#warned) return
    this.#warned = true
    this.#log?.warn(
      { bytes: this.#bytes },
      `Replies that could not be sent take more than ${MAX_UNSENT_BYTES / 1_048_576} MiB: the oldest are dropped from now on. Their jobs are settled all the same; a caller that waits for such a reply runs into its timeout.`,
    )
  }
}
