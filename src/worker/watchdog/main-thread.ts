import type { MessagePort } from 'node:worker_threads'
import { type SharedRecords, Word } from './shared-records.js'

/** What the main thread gives to the watchdog at its start. */
export interface WatchdogData {
  memory: SharedArrayBuffer
  slots: number
  port: MessagePort
  cancelGrace: number
  heartbeatInterval: number
  killTree: boolean
  maxMessageSize: number
  /** Whether the inspector may be used; if not, there are no stacks and no interruptions. */
  inspector: boolean
  /** Node measures the coverage of the main thread's code (NODE_V8_COVERAGE). */
  coverage: boolean
  /** The folder of this package's own code, which distinguishes its stack frames from the task's. */
  own: string
}

/** Watchdog → main thread. `turn` numbers the messages; the main thread notes the last one it has handled. */
export type ToMain =
  | { kind: 'ping'; turn: number }
  | { kind: 'soft'; turn: number; delivery: number; limit: number }
  /** `reason` is decoded by the main thread, which has loaded the codec. */
  | { kind: 'cancel'; turn: number; delivery: number; reason: Uint8Array; asked: boolean }
  /** The inspector is not connected any more. */
  | { kind: 'detached'; turn: number }
  | { kind: 'interrupted'; turn: number; delivery: number; cause: 'soft' | 'cancel'; stack: string }

/** Main thread → watchdog: a deadline is due earlier than `Word.ARMED` says; the process is about to exit; it cannot write its results any more. */
export type ToWatchdog = 'deadline' | 'leaving' | { broken: string }

/** The watchdog's view of the main thread: sends it messages, and knows which it has handled. */
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
  cancel(delivery: number, reason: Uint8Array, asked: boolean): number {
    return this.#post({ kind: 'cancel', turn: ++this.#turn, delivery, reason: Uint8Array.from(reason), asked })
  }

  interrupted(delivery: number, cause: 'soft' | 'cancel', stack: string): number {
    return this.#post({ kind: 'interrupted', turn: ++this.#turn, delivery, cause, stack })
  }

  detached(): number {
    return this.#post({ kind: 'detached', turn: ++this.#turn })
  }

  /** Whether its event loop has turned to a message: `turn` is what the call that sent it returned. */
  hasTurned(turn: number): boolean {
    return Atomics.load(this.#records.ints, Word.TURN) - turn >= 0
  }

  #post(message: ToMain): number {
    this.#port.postMessage(message)
    return message.turn
  }
}
