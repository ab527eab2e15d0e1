import type { PoolLogger } from '../../pool/types.js'
import type { TaskOptions } from '../../worker/tasks/define-task.js'
import type { Settlement } from '../delivery.js'
import { retryAfterOf } from '../ended-run.js'

const WHY = 'the broker decides by itself how often it tries a job and when'

/** Warns where a node cannot do what a task says about its retries. */
export class IgnoredRetryOptions {
  readonly #log: PoolLogger | undefined
  readonly #brokerRetries: boolean
  /** What was warned of, by task and option. */
  readonly #warned = new Set<string>()

  /** `brokerRetries`: the broker tries jobs again by its own rules. */
  constructor(log: PoolLogger | undefined, brokerRetries: boolean) {
    this.#log = log
    this.#brokerRetries = brokerRetries
  }

  /** A job of the task is here. Warns once for each option of `defineTask` that has no effect. */
  checkOptions(task: string, { maxAttempts, backoff }: TaskOptions): void {
    if (!this.#brokerRetries) return
    if (maxAttempts !== undefined) this.#once(task, 'maxAttempts', `maxAttempts, which defineTask() gives the task '${task}', has no effect: ${WHY}`)
    if (backoff !== undefined) this.#once(task, 'backoff', `backoff, which defineTask() gives the task '${task}', has no effect: ${WHY}`)
  }

  /** A run of the job has failed, which leads to this settlement. */
  checkDelay({ id, name }: { readonly id: string; readonly name: string }, error: unknown, settlement: Settlement): void {
    const wanted = retryAfterOf(error)
    if (wanted === undefined || settlement.kind !== 'republish') return
    if (this.#brokerRetries) this.#once(name, 'delay', `the delay of a RetryAfterError, which the task '${name}' threw, has no effect: ${WHY}`)
    else if (wanted > settlement.delay)
      this.#log?.warn(
        { job: id, task: name, wanted, delay: settlement.delay },
        'the delay of a RetryAfterError is longer than the broker can wait: it is cut to the longest one',
      )
  }

  #once(task: string, option: string, message: string): void {
    const key = `${option} ${task}`
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#log?.warn({ task, option }, message)
  }
}
