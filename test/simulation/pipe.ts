/** Bytes may be on their way for so long, in the worst weather, before anybody can see them, ms. */
export const ON_ITS_WAY = 450

const nobody = (): void => {}

/** A pipe in the kernel: bounded, first in first out; either end may be closed. */
export class Pipe {
  size = 0
  writerClosed = false
  readerClosed = false
  /** Bytes have come, or the writer has closed its end. */
  onReadable = nobody
  /** There is room again, or the reader has closed its end. */
  onRoom = nobody
  readonly #capacity: number
  #chunks: Buffer[] = []

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get room(): number {
    return Math.max(0, this.#capacity - this.size)
  }

  /** Copies what there is room for; returns how many bytes that was. */
  put(bytes: Uint8Array): number {
    const fits = Math.min(bytes.length, this.room)
    if (fits > 0) {
      this.#chunks.push(Buffer.from(bytes.subarray(0, fits)))
      this.size += fits
      this.onReadable()
    }
    return fits
  }

  /** At most `most` bytes, in memory that is the reader's alone. */
  take(most: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const taken = all.subarray(0, Math.min(most, all.length))
    this.#chunks = taken.length === all.length ? [] : [all.subarray(taken.length)]
    this.size -= taken.length
    if (taken.length > 0) this.onRoom()
    return taken
  }

  closeWriter(): void {
    if (this.writerClosed) return
    this.writerClosed = true
    this.onReadable()
  }

  /** What nobody has read is gone. */
  closeReader(): void {
    if (this.readerClosed) return
    this.readerClosed = true
    this.#chunks = []
    this.size = 0
    this.onRoom()
  }
}
