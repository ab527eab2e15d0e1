import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { setInterval } from '../../util/node-time.js'
import { decode } from '../../wire/codec/index.js'
import { NO_STACK, NO_WATCHDOG, type WorkerConfig } from '../../wire/messages.js'
import { Claimer, Recaller } from '../claim.js'
import { residentMemory } from '../io/resident-memory.js'
import type { LinkEvents, WatchdogLink } from '../link.js'
import { killProcess, Lifeline, resultsLostText } from './lifeline.js'

/** How long the host may take to kill this process once BROKEN has been written, ms. Until then this process does not notice that the host has exited. */
const BROKEN_MS = 1_000

/** Calls back soon, from within a native callback of its own: the main thread posts itself a message. */
export class Waker {
  readonly #port: MessagePort
  #pending = false

  constructor(onWake: () => void) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port2.on('message', () => {
      this.#pending = false
      onWake()
    })
    port2.unref()
    port1.unref()
  }

  wake(): void {
    if (this.#pending) return
    this.#pending = true
    this.#port.postMessage(0)
  }
}

/** With `watchdog: false` the main thread owns the lifeline: it handles a message when its event loop turns, and the host keeps all limits. */
export class MainThreadLink implements WatchdogLink {
  readonly claimer: Claimer
  readonly #waker: Waker
  readonly #lifeline: Lifeline
  /** By slot: the delivery that runs there; 0: none. */
  readonly #running: number[] = []

  constructor(config: WorkerConfig, events: LinkEvents) {
    const word = new Int32Array(1)
    const recaller = new Recaller(word, 0)
    this.claimer = new Claimer(word, 0)
    this.#waker = new Waker(() => events.onWake())
    const lifeline = new Lifeline(
      {
        onEnd: () => killProcess(config.killTree),
        onRecall: (upTo) => lifeline.recalled(recaller.recall(upTo), upTo),
        onCancel: (delivery, upTo, interruptFor, reason) => {
          const lastClaimed = recaller.recall(upTo)
          lifeline.recalled(lastClaimed, upTo)
          if (delivery > lastClaimed) return
          events.onCancel(delivery, decode(Buffer.from(reason.buffer, reason.byteOffset, reason.length), 0), interruptFor === 0)
        },
        // Called on the main thread, so no task is on the stack.
        onStackRequest: (request) => lifeline.stack(request, NO_STACK),
        onProfileRequest: (request) => lifeline.profileFailed(request, NO_WATCHDOG),
        onSoftLimitRequest: (delivery, limit) => events.onSoftLimit(delivery, limit),
      },
      config.maxMessageSize,
    )
    lifeline.unref()
    this.#lifeline = lifeline
    this.#beat()
    setInterval(() => this.#beat(), config.heartbeatInterval).unref()
  }

  began(slot: number, delivery: number): void {
    this.#running[slot] = delivery
  }

  ended(slot: number): void {
    this.#running[slot] = 0
  }

  entering(): void {}
  left(): void {}
  beforeWrite(): void {}
  afterWrite(): void {}

  /** An empty socket writes to the kernel synchronously, so BROKEN is sent before this thread blocks. */
  resultsLost(error: NodeJS.ErrnoException): void {
    if (error.code === 'EPIPE') return
    this.#lifeline.broken(resultsLostText(error))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BROKEN_MS)
  }

  wake(): void {
    this.#waker.wake()
  }

  #beat(): void {
    const running = this.#running.filter((delivery) => delivery > 0)
    this.#lifeline.heartbeat(residentMemory(), 0, running.length === 0 ? 0 : Math.min(...running))
  }
}
