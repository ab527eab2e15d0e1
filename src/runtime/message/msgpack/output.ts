/** Bytes on their way out: one scratch buffer for everybody, which grows with a large value and is let go after it. */

const SCRATCH = 16_384
const KEEP = 1_048_576

let scratch: Buffer | undefined

export class Output {
  bytes: Buffer
  at = 0
  readonly #maxSize: number

  constructor(maxSize: number) {
    this.#maxSize = maxSize
    this.bytes = scratch ?? Buffer.allocUnsafeSlow(SCRATCH)
    // A getter in the value may encode another meanwhile.
    scratch = undefined
  }

  /** Makes room for `count` more bytes and returns where they begin. Throws RangeError over the size that was allowed. */
  take(count: number): number {
    const start = this.at
    const end = start + count
    if (end > this.bytes.length) {
      if (end > this.#maxSize) throw new RangeError(`is larger than ${this.#maxSize} bytes`)
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#maxSize, Math.max(end, 2 * this.bytes.length)))
      this.bytes.copy(larger, 0, 0, start)
      this.bytes = larger
    }
    this.at = end
    return start
  }

  /** What was written, as a buffer of its own. */
  finish(): Buffer {
    const result = Buffer.from(this.bytes.subarray(0, this.at))
    if (this.bytes.length <= KEEP) scratch = this.bytes
    return result
  }
}
