import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { clearTimeout, setImmediate, setTimeout } from '../../util/node-time.js'

/** ms by which the deadline is put off when bytes have arrived: they may be the answer, or the beginning of one. */
const EXTENSION = 1_000

/**
 * The time until which the first unanswered command of a connection must be answered. When it has passed, the event loop first reads what lies in
 * the socket: a host that was blocked finds the answer there. The deadline is extended as long as bytes arrive.
 */
export class ReplyDeadline {
  readonly #socket: Socket
  readonly #next: () => number | undefined
  readonly #overdue: () => void
  #timer: NodeJS.Timeout | undefined
  #armedFor = 0
  #extendedTo = 0
  #stopped = false

  /** `next`: the deadline of the first unanswered command, ms on the monotonic clock. */
  constructor(socket: Socket, next: () => number | undefined, overdue: () => void) {
    this.#socket = socket
    this.#next = next
    this.#overdue = overdue
  }

  /** There is a command that is not answered. One timer serves all: it looks at the first when it fires. */
  arm(): void {
    const next = this.#next()
    if (next === undefined || this.#stopped || (this.#timer !== undefined && this.#armedFor <= next)) return
    clearTimeout(this.#timer)
    this.#armedFor = Math.max(next, this.#extendedTo)
    this.#timer = setTimeout(() => this.#check(), Math.max(1, this.#armedFor - performance.now()))
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #check(): void {
    if (!this.#isDue()) {
      this.#timer = undefined
      this.arm()
      return
    }
    const { bytesRead } = this.#socket
    // The loop polls before it runs this callback.
    setImmediate(() => {
      this.#timer = undefined
      if (this.#stopped) return
      if (this.#socket.bytesRead > bytesRead) this.#extendedTo = performance.now() + EXTENSION
      if (this.#isDue()) this.#overdue()
      else this.arm()
    })
  }

  #isDue(): boolean {
    const next = this.#next()
    return next !== undefined && Math.max(next, this.#extendedTo) <= performance.now()
  }
}
