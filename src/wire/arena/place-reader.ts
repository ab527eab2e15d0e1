import { ProtocolError } from '../errors.js'
import { checkStamp, PLACE_BYTES, placedBytesOf, positionOf, STAMP_BYTES, stampOf } from './place.js'
import type { SharedFile } from './shared-file.js'

/** Reads payloads from a file of shared memory that its writer alone writes. */
export class PlaceReader {
  /** The stamp of the last place. */
  stamp = 0
  readonly #file: SharedFile
  readonly #maxBytes: number
  readonly #stampBytes = Buffer.alloc(STAMP_BYTES)

  /** `maxBytes`: of a frame, as if it had come whole. */
  constructor(file: SharedFile, maxBytes: number) {
    this.#file = file
    this.#maxBytes = maxBytes
  }

  /**
   * The frame that lies in `from[start..end)`, its place last, as if it had come whole. Every byte of the memory returned is written.
   *
   * @param lead bytes that are left free in front of it
   * @throws {ProtocolError} the frame is too long, or the memory does not hold what it speaks of
   */
  complete(from: Buffer, start: number, end: number, lead: number): Buffer {
    const place = end - PLACE_BYTES
    if (place < start) throw new ProtocolError(`A frame of ${end - start} bytes has no room for a place.`)
    const bytes = placedBytesOf(from, place)
    const own = place - start
    if (own + bytes > this.#maxBytes) throw new ProtocolError(`A frame of ${own + bytes} bytes by place: it has ${this.#maxBytes} at most.`)
    const whole = Buffer.allocUnsafeSlow(lead + own + bytes)
    whole.fill(0, 0, lead)
    from.copy(whole, lead, start, place)
    const stamp = stampOf(from, place)
    this.#stampBytes.fill(0)
    const isRead = this.#file.read([this.#stampBytes, whole.subarray(lead + own)], positionOf(from, place), STAMP_BYTES + bytes)
    if (!isRead) throw new ProtocolError(`The shared memory ends before the ${bytes} bytes of place ${stamp}.`)
    checkStamp(this.#stampBytes, stamp, bytes)
    this.stamp = stamp
    return whole
  }
}
