import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolLogger } from '../pool/types.js'
import type { Delivery, Settlement } from './delivery.js'

/** What became of a job, kept until the broker has taken it, and its like recognised for longer. */
export interface Outcome {
  settlement: Settlement
  /** The answer for `replyTo`, until it is sent. */
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
  readonly #underWay = new Set<Promise<void>>()
  readonly #hurry = new AbortController()
  /** Deliveries given back, unbegun or because the broker refused their settlement. */
  requeued = 0

  constructor(log: PoolLogger | undefined) {
    this.#log = log
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
  settle(deliveries: readonly Delivery[], outcome: Outcome): Promise<void> {
    const before = outcome.settling
    const settled = before === undefined ? this.#settleAll(deliveries, outcome) : before.then(() => this.#settleAll(deliveries, outcome))
    const work = settled.finally(() => {
      this.#underWay.delete(work)
      if (outcome.settling === work) outcome.settling = undefined
    })
    outcome.settling = work
    this.#underWay.add(work)
    return work
  }

  async #settleAll(deliveries: readonly Delivery[], outcome: Outcome): Promise<void> {
    for (const delivery of deliveries) {
      if (delivery.gone.aborted) continue
      this.#reply(delivery, outcome)
      const { settlement } = outcome
      const done = await this.#settleOne(delivery, settlement)
      // Whatever is delivered of it from now on is only to be removed.
      if (done && settlement.kind !== 'requeue') outcome.settlement = ACKNOWLEDGE
    }
  }

  /** True: the republication or dead letter is stored, or nothing needed to be. */
  async #settleOne(delivery: Delivery, settlement: Settlement): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        if (settlement.kind === 'requeue') this.requeued++
        const { published, settled } = await delivery.settle(settlement)
        return published || settled
      } catch (error) {
        this.#log?.error({ job: delivery.id, queue: delivery.queue, settlement: settlement.kind, tries, err: error }, 'the broker refused a settlement')
      }
      if (delivery.gone.aborted) return false
      if (tries >= TRIES || this.#hurry.signal.aborted) return this.#giveBack(delivery)
      await sleep(Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (tries - 1)), undefined, { signal: AbortSignal.any([delivery.gone, this.#hurry.signal]) }).catch(
        () => {},
      )
      if (delivery.gone.aborted) return false
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
    }
    return false
  }

  #reply(delivery: Delivery, outcome: Outcome): void {
    const { reply } = outcome
    if (reply === undefined) return
    delivery.reply(reply.body, { ok: reply.ok }).then(
      () => {
        if (outcome.reply === reply) outcome.reply = undefined
      },
      (error: unknown) => this.#log?.warn({ job: delivery.id, err: error }, 'the answer to a job could not be sent'),
    )
  }
}
