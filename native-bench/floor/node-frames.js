/** The frames of the floor in Node: the fixed part of src/wire/messages.ts, followed by raw bytes. */

export const JOB = 1
export const ACCEPTED = 19
export const READY = 20
export const LENGTH_BYTES = 4
export const FRAME_HEAD = 20
export const JOB_HEAD = 32

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} length of the body, the fixed part included
 * @param {number} kind
 * @param {number} job
 */
export const putHead = (bytes, at, length, kind, job) => {
  bytes.writeUInt32LE(length, at)
  bytes[at + 4] = kind
  bytes[at + 5] = 0
  bytes.writeUInt16LE(0, at + 6)
  bytes.writeUInt32LE(0, at + 8)
  bytes.writeDoubleLE(job, at + 12)
}

/**
 * Cuts a stream of chunks into frames and calls `take(bytes, start, end)` for each; `start` is at its length. A frame that spans chunks is
 * copied once, into a buffer of its size.
 */
export class Cutter {
  /** @type {Buffer | undefined} */
  #partial
  #filled = 0
  /** @type {(bytes: Buffer, start: number, end: number) => void} */
  #take

  /** @param {(bytes: Buffer, start: number, end: number) => void} take */
  constructor(take) {
    this.#take = take
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    let at = 0
    if (this.#partial !== undefined) {
      if (this.#partial.length === LENGTH_BYTES) {
        at = this.#fill(this.#partial, chunk, at)
        if (this.#filled < LENGTH_BYTES) return
        const whole = Buffer.allocUnsafeSlow(LENGTH_BYTES + this.#partial.readUInt32LE(0))
        this.#partial.copy(whole)
        this.#partial = whole
      }
      at = this.#fill(this.#partial, chunk, at)
      if (this.#filled < this.#partial.length) return
      const frame = this.#partial
      this.#partial = undefined
      this.#take(frame, 0, frame.length)
    }
    while (chunk.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + chunk.readUInt32LE(at)
      if (end > chunk.length) {
        this.#hold(chunk, at, end - at)
        return
      }
      this.#take(chunk, at, end)
      at = end
    }
    if (at < chunk.length) this.#hold(chunk, at, LENGTH_BYTES)
  }

  /** @param {Buffer} into @param {Buffer} chunk @param {number} at */
  #fill(into, chunk, at) {
    const took = chunk.copy(into, this.#filled, at)
    this.#filled += took
    return at + took
  }

  /** @param {Buffer} chunk @param {number} at @param {number} size */
  #hold(chunk, at, size) {
    this.#partial = Buffer.allocUnsafeSlow(size)
    this.#filled = chunk.copy(this.#partial, 0, at)
  }
}
