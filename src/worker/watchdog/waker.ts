import { MessageChannel, type MessagePort } from 'node:worker_threads'

/** Calls back soon, out of a native callback of its own: the main thread posts itself a message. */
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
