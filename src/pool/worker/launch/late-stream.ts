import type { HubReadable, HubWritable } from '../../../hub/index.js'

type Listener = (...args: never[]) => void

/** What the host needs of a pipe that it was handed: `net.Socket` has it, and so have the simulation's pipes. */
export interface PipeSocket extends HubReadable, HubWritable {
  readonly destroyed: boolean
  on(event: string, listener: (...args: never[]) => void): unknown
  destroy(): unknown
  unref(): unknown
}

/** A pipe whose socket comes later. What is written or listened to before waits for it. */
export class LateStream implements HubReadable, HubWritable {
  #socket: PipeSocket | undefined
  readonly #listeners: [event: string, listener: Listener][] = []
  #early: Uint8Array[] = []
  #isPaused = false
  #isClosed = false

  /** The socket has come. */
  attach(socket: PipeSocket): void {
    this.#socket = socket
    if (this.#isClosed) {
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    if (this.#isPaused) socket.pause()
    for (const [event, listener] of this.#listeners) socket.on(event, listener)
    for (const bytes of this.#early) socket.write(bytes)
    this.#early = []
  }

  get isAttached(): boolean {
    return this.#socket !== undefined
  }

  /** It will not come. */
  end(): void {
    if (this.#socket !== undefined || this.#isClosed) return
    this.#isClosed = true
    for (const [event, listener] of this.#listeners) if (event === 'close') (listener as () => void)()
  }

  on(event: string, listener: Listener): this {
    if (this.#socket === undefined) this.#listeners.push([event, listener])
    else this.#socket.on(event, listener)
    return this
  }

  write(bytes: Uint8Array): boolean {
    if (this.#socket !== undefined) return this.#socket.write(bytes)
    // Copied: what is written from a buffer that is used again has left it only once the kernel has it.
    if (!this.#isClosed) this.#early.push(Uint8Array.from(bytes))
    return true
  }

  cork(): void {
    this.#socket?.cork()
  }

  uncork(): void {
    this.#socket?.uncork()
  }

  get writableLength(): number {
    return this.#socket?.writableLength ?? this.#early.reduce((sum, { length }) => sum + length, 0)
  }

  pause(): void {
    this.#isPaused = true
    this.#socket?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#socket?.resume()
  }

  destroy(): void {
    this.#isClosed = true
    this.#socket?.destroy()
  }
}
