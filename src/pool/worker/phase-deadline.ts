import type { Hub, PendingDeadline, Reader } from '../../hub/index.js'
import { PreforkError } from '../../wire/errors.js'

/** The deadline for the next step of a worker process: HELLO, WORKER_UP, the exit after QUIT, the end of its output. Each deadline replaces the one before. */
export class PhaseDeadline {
  readonly #hub: Hub
  #pending: PendingDeadline | undefined

  constructor(hub: Hub) {
    this.#hub = hub
  }

  /** `late` is called once `readers` have brought nothing more, `ms` from now. */
  set(ms: number, readers: readonly Reader[], late: () => void): void {
    this.#pending?.cancel()
    this.#pending = this.#hub.deadlineAfterRead(ms, () => readers, late)
  }

  /** The same for a message of the start, which has `times` as long as the option. */
  expect(what: 'HELLO' | 'WORKER_UP', aliveTimeout: number, times: number, results: Reader, late: (error: PreforkError) => void): void {
    const ms = times * aliveTimeout
    this.set(ms, [results], () => {
      const behind = what === 'HELLO' ? 'the process had not got so far as to load the tasks' : 'the task modules and start hooks were not through'
      const text = `No ${what} within ${ms} ms: ${behind}. The option 'aliveTimeout' is ${aliveTimeout} ms${times === 1 ? '' : `; this start had ${times} times as long`}.`
      late(new PreforkError('ERR_PREFORK_START_TIMEOUT', text))
    })
  }

  cancel(): void {
    this.#pending?.cancel()
    this.#pending = undefined
  }
}
