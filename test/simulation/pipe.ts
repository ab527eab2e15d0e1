/** The longest time that bytes are in transit before their reader sees them, with the slowest pipes, ms. */
export const MAX_TRANSIT_MS = 450

const noop = (): void => {}

/** A pipe of the kernel: bounded, first in, first out. Either end can be closed. */
export class Pipe {
  size = 0
  writerClosed = false
  readerClosed = false
  /** Called when bytes arrive, or the writer closes its end. */
  onReadable = noop
  /** Called when bytes are taken out, or the reader closes its end. */
  onWritable = noop
  readonly #capacity: number
  #chunks: Buffer[] = []

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get #available(): number {
    return Math.max(0, this.#capacity - this.size)
  }

  /** Copies as many bytes as fit; returns their number. */
  put(bytes: Uint8Array): number {
    const fits = Math.min(bytes.length, this.#available)
    if (fits > 0) {
      this.#chunks.push(Buffer.from(bytes.subarray(0, fits)))
      this.size += fits
      this.onReadable()
    }
    return fits
  }

  /** Removes at most `max` bytes. The pipe keeps no reference to their memory. */
  take(max: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const taken = all.subarray(0, Math.min(max, all.length))
    this.#chunks = taken.length === all.length ? [] : [all.subarray(taken.length)]
    this.size -= taken.length
    if (taken.length > 0) this.onWritable()
    return taken
  }

  closeWriter(): void {
    if (this.writerClosed) return
    this.writerClosed = true
    this.onReadable()
  }

  /** Discards the bytes that have not been read. */
  closeReader(): void {
    if (this.readerClosed) return
    this.readerClosed = true
    this.#chunks = []
    this.size = 0
    this.onWritable()
  }
}
