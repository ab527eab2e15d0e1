import type { Hub, PendingDeadline, Reader } from '../../hub/index.js'
import { PreforkError } from '../../wire/errors.js'

/** The deadline of what a worker process is to do next: send HELLO, send WORKER_UP, exit after QUIT, end its output. Each replaces the one before. */
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

  /** The same for a message of the start. */
  expect(what: 'HELLO' | 'WORKER_UP', ms: number, results: Reader, late: (error: PreforkError) => void): void {
    this.set(ms, [results], () => {
      const behind = what === 'HELLO' ? 'the process had not got so far as to load the tasks' : 'the task modules and start hooks were not through'
      const text = `No ${what} within ${ms} ms: ${behind}. See the option 'aliveTimeout'.`
      late(new PreforkError('ERR_PREFORK_START_TIMEOUT', text))
    })
  }

  cancel(): void {
    this.#pending?.cancel()
    this.#pending = undefined
  }
}
