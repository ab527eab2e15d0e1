import { performance } from 'node:perf_hooks'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { deferred } from '../../util/with-timeout.js'

/** ms after an answer within which others count as answers to the same request: their number is not known. */
const QUIET = 50

/** What a node asks the others when it starts. It is over when no further answer is expected; one that comes later still counts. */
export class NodeRequest {
  readonly command: object
  readonly #receive: (answer: unknown) => void
  readonly #over = deferred()
  readonly #endsAt: number
  readonly #timeout: NodeJS.Timeout
  #quiet: NodeJS.Timeout | undefined

  /** `timeout`: ms until it is over in any case. */
  constructor(command: object, receive: (answer: unknown) => void, timeout: number) {
    this.command = command
    this.#receive = receive
    this.#endsAt = performance.now() + timeout
    this.#timeout = setTimeout(() => this.end(), timeout)
  }

  /** ms */
  get timeLeft(): number {
    return Math.max(0, this.#endsAt - performance.now())
  }

  get over(): Promise<void> {
    return this.#over.promise
  }

  /** Of a node that refuses there is no answer. */
  answered(answer: { readonly ok: boolean; readonly value?: unknown }): void {
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => this.end(), QUIET)
    if (answer.ok) this.#receive(answer.value)
  }

  /** No answer is waited for any more. */
  end(): void {
    clearTimeout(this.#timeout)
    clearTimeout(this.#quiet)
    this.#over.resolve()
  }
}
