import { MessageChannel, type MessagePort } from 'node:worker_threads'

/** Calls back soon, out of a native callback of its own: a message that the main thread posts to itself. */
export class Waker {
  readonly #port: MessagePort
  #asked = false

  constructor(onWake: () => void) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port2.on('message', () => {
      this.#asked = false
      onWake()
    })
    port2.unref()
    port1.unref()
  }

  wake(): void {
    if (this.#asked) return
    this.#asked = true
    this.#port.postMessage(0)
  }
}
