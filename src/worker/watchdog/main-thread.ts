import type { MessagePort } from 'node:worker_threads'
import type { ToMain } from './port-messages.js'
import { type SharedRecords, Word } from './shared-records.js'

/** The watchdog's view of the main thread: tells it things, and knows whether it has turned since. */
export class MainThread {
  readonly #port: MessagePort
  readonly #records: SharedRecords
  #turn = 0

  constructor(port: MessagePort, records: SharedRecords) {
    this.#port = port
    this.#records = records
  }

  ping(): number {
    return this.#post({ kind: 'ping', turn: ++this.#turn })
  }

  soft(delivery: number, limit: number): number {
    return this.#post({ kind: 'soft', turn: ++this.#turn, delivery, limit })
  }

  /** The reason is copied: it is a piece of a larger chunk. */
  cancel(delivery: number, reason: Uint8Array): number {
    return this.#post({ kind: 'cancel', turn: ++this.#turn, delivery, reason: Uint8Array.from(reason) })
  }

  interrupted(delivery: number, cause: 'soft' | 'cancel', stack: string): number {
    return this.#post({ kind: 'interrupted', turn: ++this.#turn, delivery, cause, stack })
  }

  detached(): number {
    return this.#post({ kind: 'detached', turn: ++this.#turn })
  }

  /** Whether it has taken a message, named by what the call that sent it returned. */
  hasTurned(turn: number): boolean {
    return Atomics.load(this.#records.words, Word.TURN) - turn >= 0
  }

  #post(message: ToMain): number {
    this.#port.postMessage(message)
    return message.turn
  }
}
