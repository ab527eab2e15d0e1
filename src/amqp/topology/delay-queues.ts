import { performance } from 'node:perf_hooks'
import type { AdminChannel } from '../connection/admin-channel.js'
import { delayStepOf } from './delay-steps.js'
import { declareDelayQueue, delayQueue } from './topology.js'

/**
 * ms after which a queue is declared again before a publication. A queue that is neither declared nor consumed expires after its step
 * and a day, even with messages in it. Messages published within this time after a declaration have left the queue before it expires.
 */
const RENEW_AFTER = 60_000

/** The delay queues of a publisher: declared at their first use, and again while they are used, so that they do not expire. */
export class DelayQueues {
  readonly #admin: AdminChannel
  readonly #declared = new Map<string, { at: number; done: Promise<void> }>()

  constructor(admin: AdminChannel) {
    this.#admin = admin
  }

  /** Resolves with the name of the queue in which a job for `queue` waits `delay` ms, once the queue exists. */
  async ensure(queue: string, delay: number): Promise<string> {
    const step = delayStepOf(delay)
    const name = delayQueue(queue, step)
    const known = this.#declared.get(name)
    if (known !== undefined && performance.now() - known.at < RENEW_AFTER) {
      await known.done
      return name
    }
    const done = this.#admin.run((channel) => declareDelayQueue(channel, queue, step))
    this.#declared.set(name, { at: performance.now(), done })
    try {
      await done
    } catch (error) {
      this.#declared.delete(name)
      throw error
    }
    return name
  }

  /** The queue was deleted: the next `ensure` declares it again. */
  forget(name: string): void {
    this.#declared.delete(name)
  }
}
