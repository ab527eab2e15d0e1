/** The delay queues as a publisher uses them: made when they are first wanted, renewed while they are. */
import type { AdminChannel } from '../connection/admin-channel.js'
import { delayStepOf } from './delay-steps.js'
import { declareDelayQueue, delayQueue } from './topology.js'

/**
 * ms after which a queue is declared again before it is published to. A queue expires when nobody has declared or consumed it
 * for its step and a day, whether or not it holds messages; those published within this time of a declaration have left by then.
 */
const RENEW = 60_000

export class DelayQueues {
  readonly #errands: AdminChannel
  readonly #made = new Map<string, { at: number; done: Promise<void> }>()

  constructor(errands: AdminChannel) {
    this.#errands = errands
  }

  /** The name of the queue in which a job for `queue` waits `delay` ms; it exists when the promise resolves. */
  async open(queue: string, delay: number): Promise<string> {
    const step = delayStepOf(delay)
    const name = delayQueue(queue, step)
    const known = this.#made.get(name)
    if (known !== undefined && performance.now() - known.at < RENEW) {
      await known.done
      return name
    }
    const done = this.#errands.run((channel) => declareDelayQueue(channel, queue, step))
    this.#made.set(name, { at: performance.now(), done })
    try {
      await done
    } catch (error) {
      this.#made.delete(name)
      throw error
    }
    return name
  }

  /** Somebody deleted it. */
  forget(name: string): void {
    this.#made.delete(name)
  }
}
