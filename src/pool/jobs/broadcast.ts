import { knownNames, plainObject } from '../../util/checks.js'
import { QueueFullError } from '../../wire/errors.js'
import type { BroadcastOptions } from '../types.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobRecord } from './job.js'
import { nameText } from './submission.js'

const NAMES = ['timeLimit', 'softTimeLimit', 'signal', 'priority', 'retryLost', 'context'] as const satisfies readonly (keyof BroadcastOptions)[]

/** What one job alone may have (an id, memory that is moved) is refused. Throws TypeError. */
export const checkBroadcastOptions = (name: unknown, given: unknown): void =>
  knownNames(`pool.broadcast('${nameText(name)}', …)`, plainObject('options', given ?? {}), NAMES)

export const broadcastTooWide = (name: string, places: number, maxQueue: number): QueueFullError =>
  new QueueFullError(
    places > maxQueue
      ? `A broadcast of '${name}' to ${places} workers can never be queued where maxQueue is ${maxQueue}: raise it.`
      : `There is no room in the queue (maxQueue, ${maxQueue}) for a broadcast of '${name}' to ${places} workers; wait for pool.ready(), or raise maxQueue.`,
  )

/** One call of `pool.broadcast`: each worker is asked once, whoever leaves or comes meanwhile. */
export class Broadcast {
  readonly #asked = new WeakSet<PoolWorker>()
  readonly #unanswered = new WeakSet<JobRecord>()

  ask(worker: PoolWorker): void {
    this.#asked.add(worker)
  }

  hasAsked(worker: PoolWorker): boolean {
    return this.#asked.has(worker)
  }

  /** The place that this share was for has been taken away. */
  markUnanswered(share: JobRecord): void {
    this.#unanswered.add(share)
  }

  isUnanswered(share: JobRecord): boolean {
    return this.#unanswered.has(share)
  }
}
