import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolLogger } from '../pool/types.js'
import { type Delivery, notifyEnded, type Settlement, type SettleResult } from './delivery.js'
import type { UnsentReplies } from './unsent-replies.js'

/** What became of a job, kept until the broker has taken it, and its like recognised for longer. */
export interface Outcome {
  settlement: Settlement
  /** Its like is recognised when it is delivered again. */
  readonly remembered: boolean
  /** The answer for `replyTo`, until it is sent; absent, too, when too many wait. */
  reply: { readonly body: Buffer; readonly ok: boolean } | undefined
  /** Under way: what is delivered meanwhile waits for it. */
  settling: Promise<void> | undefined
}

const ACKNOWLEDGE: Settlement = { kind: 'acknowledge' }

/** Tries to publish before the message is given back, and the first and longest wait between them, ms. */
const TRIES = 6
const FIRST_WAIT = 200
const LONGEST_WAIT = 30_000

/** Brings settlements to the broker. One that it refuses is tried again, then the delivery is given back: none is dropped. */
export class Settler {
  readonly #log: PoolLogger | undefined
  readonly #unsent: UnsentReplies
  readonly #underWay = new Set<Promise<void>>()
  readonly #hurry = new AbortController()
  /** Deliveries given back, unbegun or because the broker refused their settlement. */
  requeued = 0

  constructor(log: PoolLogger | undefined, unsent: UnsentReplies) {
    this.#log = log
    this.#unsent = unsent
  }

  /** Settlements under way. */
  get size(): number {
    return this.#underWay.size
  }

  /** Resolves when none is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** From now on nothing is tried again: what the broker refuses is given back at once. */
  hurry(): void {
    this.#hurry.abort()
  }

  /** The same outcome for all that were delivered: the first live one carries it out, the others are acknowledged. */
  settle(deliveries: readonly Delivery[], outcome: Outcome): void {
    const before = outcome.settling
    const [only] = deliveries
    if (before === undefined && deliveries.length === 1 && outcome.settlement.kind === 'acknowledge') this.#acknowledge(only!, outcome)
    else this.#track(before === undefined ? this.#settleAll(deliveries, outcome) : before.then(() => this.#settleAll(deliveries, outcome)), outcome)
  }

  /** What nearly every job comes to: no promise is made for it where the broker needs none. */
  #acknowledge(delivery: Delivery, outcome: Outcome): void {
    if (delivery.gone.aborted) {
      this.#unsent.keep(outcome)
      notifyEnded(delivery)
      return
    }
    this.#reply(delivery, outcome)
    let answer: SettleResult | Promise<SettleResult>
    try {
      answer = delivery.settle(ACKNOWLEDGE)
    } catch (error) {
      answer = Promise.reject(error)
    }
    if (answer instanceof Promise) this.#track(this.#settleOne(delivery, ACKNOWLEDGE, answer), outcome)
  }

  /** Whoever waits for the settlements waits for this one too. */
  #track(settled: Promise<unknown>, outcome: Outcome): void {
    const work: Promise<void> = settled
      .then(() => {})
      .finally(() => {
        this.#underWay.delete(work)
        if (outcome.settling === work) outcome.settling = undefined
      })
    outcome.settling = work
    this.#underWay.add(work)
  }

  async #settleAll(deliveries: readonly Delivery[], outcome: Outcome): Promise<void> {
    if (deliveries.every(({ gone }) => gone.aborted)) this.#unsent.keep(outcome)
    for (const delivery of deliveries) {
      if (delivery.gone.aborted) {
        notifyEnded(delivery)
        continue
      }
      this.#reply(delivery, outcome)
      const { settlement } = outcome
      const done = await this.#settleOne(delivery, settlement)
      // Whatever is delivered of it from now on is only to be removed.
      if (done && settlement.kind !== 'requeue') outcome.settlement = ACKNOWLEDGE
    }
  }

  /** True: the republication or dead letter is stored, or nothing needed to be. */
  async #settleOne(delivery: Delivery, settlement: Settlement, first?: Promise<SettleResult>): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        if (settlement.kind === 'requeue') this.requeued++
        const { published, settled } = await (tries === 1 && first !== undefined ? first : delivery.settle(settlement))
        return published || settled
      } catch (error) {
        this.#log?.error({ job: delivery.id, queue: delivery.queue, settlement: settlement.kind, tries, err: error }, 'the broker refused a settlement')
      }
      if (!delivery.gone.aborted) {
        if (tries >= TRIES || this.#hurry.signal.aborted) return this.#giveBack(delivery)
        await sleep(Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (tries - 1)), undefined, { signal: AbortSignal.any([delivery.gone, this.#hurry.signal]) }).catch(
          () => {},
        )
      }
      if (delivery.gone.aborted) {
        notifyEnded(delivery)
        return false
      }
    }
  }

  /** It comes back, here or elsewhere; here its outcome is remembered and tried again. */
  async #giveBack(delivery: Delivery): Promise<false> {
    try {
      this.requeued++
      await delivery.settle({ kind: 'requeue' })
      this.#log?.error({ job: delivery.id, queue: delivery.queue }, 'a delivery was given back because its settlement was refused')
    } catch (error) {
      this.#log?.error(
        { job: delivery.id, queue: delivery.queue, err: error },
        'a delivery could not even be given back: it stays unsettled until its connection ends',
      )
      tellEndedWhenGone(delivery)
    }
    return false
  }

  #reply(delivery: Delivery, outcome: Outcome): void {
    const { reply } = outcome
    if (reply === undefined) return
    this.#unsent.forget(outcome)
    delivery.reply(reply.body, { ok: reply.ok }).then(
      () => {
        outcome.reply = undefined
        this.#unsent.forget(outcome)
      },
      (error: unknown) => {
        this.#log?.warn({ job: delivery.id, err: error }, 'the answer to a job could not be sent')
        this.#unsent.keep(outcome)
      },
    )
  }
}

const tellEndedWhenGone = (delivery: Delivery): void => {
  if (delivery.ended === undefined) return
  if (delivery.gone.aborted) notifyEnded(delivery)
  else delivery.gone.addEventListener('abort', () => notifyEnded(delivery), { once: true })
}
