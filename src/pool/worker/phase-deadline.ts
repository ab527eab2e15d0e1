import type { Hub, PendingDeadline, Reader } from '../../hub/index.js'
import { PreforkError } from '../../wire/errors.js'

/** The longest wait for the stack of a worker that is not up in time, ms. */
const STACK_WAIT_MS = 1_000

/** A frame of the code of a module, and its file; those of Node and of the worker itself are left out. */
const FRAME = /^ *at (.*?(?:file:\/\/)?(\/(?:(?!\/dist\/worker\/).)*?):\d+:\d+\)?)$/

/** What holds the main thread while a task module loads: the innermost frame, and the module at the bottom of the stack. */
const loadingIn = (stack: string): { at: string; module: string } | undefined => {
  const frames = stack.split('\n').flatMap((line) => FRAME.exec(line) ?? [])
  return frames.length === 0 ? undefined : { at: frames[1]!, module: frames.at(-1)! }
}

/** Completes the error of a start that timed out with the place at which the main thread is, which the watchdog tells; then calls `done`. */
export const locateStart = (hub: Hub, stack: Promise<string>, error: StartTimeoutError, done: (error: StartTimeoutError) => void): void => {
  let settled = false
  const finish = (text: string): void => {
    if (settled) return
    settled = true
    hub.cancel(deadline)
    const place = loadingIn(text)
    done(
      place === undefined
        ? error
        : new StartTimeoutError(
            `${place.module} had not loaded within ${error.limit.times * error.limit.aliveTimeout} ms: it was executing ${place.at}`,
            error.limit,
            place.at,
          ),
    )
  }
  const deadline = hub.callLater(STACK_WAIT_MS, () => finish(''))
  stack.then(finish)
}

/** The worker was not up in time. */
export class StartTimeoutError extends PreforkError {
  readonly limit: StartLimit
  /** What the main thread was executing, if the watchdog told. */
  readonly at: string | undefined
  constructor(what: string, limit: StartLimit, at?: string) {
    const { aliveTimeout, times } = limit
    const factor = times === 1 ? '' : `; this start had ${times} times as long`
    super('ERR_PREFORK_START_TIMEOUT', `${what}. The option 'aliveTimeout' is ${aliveTimeout} ms${factor}.`)
    this.limit = limit
    this.at = at
  }
}

interface StartLimit {
  readonly aliveTimeout: number
  readonly times: number
}

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
  expect(what: 'HELLO' | 'WORKER_UP', aliveTimeout: number, times: number, results: Reader, late: (error: StartTimeoutError) => void): void {
    const ms = times * aliveTimeout
    this.set(ms, [results], () => {
      const behind = what === 'HELLO' ? 'The process had not begun to load the tasks' : 'The task modules and start hooks had not finished'
      late(new StartTimeoutError(`${behind} within ${ms} ms`, { aliveTimeout, times }))
    })
  }

  cancel(): void {
    this.#pending?.cancel()
    this.#pending = undefined
  }
}
