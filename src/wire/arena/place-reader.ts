import { ProtocolError } from '../errors.js'
import { checkStamp, PLACE_BYTES, placedBytesOf, positionOf, STAMP_BYTES, stampOf } from './place.js'
import { FIRST_PAGE, type SharedFile } from './shared-file.js'

/** Reads payloads from a file of shared memory that its writer alone writes. */
export class PlaceReader {
  /** The stamp of the last place. */
  stamp = 0
  readonly #file: SharedFile
  readonly #maxBytes: number
  readonly #end: number
  readonly #stampBytes = Buffer.alloc(STAMP_BYTES)

  /** `capacity`: bytes for places, without the first page. `maxBytes`: of a frame, as if it had come whole. */
  constructor(file: SharedFile, capacity: number, maxBytes: number) {
    this.#file = file
    this.#end = FIRST_PAGE + capacity
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
    const stamp = stampOf(from, place)
    const position = positionOf(from, place)
    // Before anything is allocated: tasks can write any place into their pipe.
    if (position < FIRST_PAGE || position + STAMP_BYTES + bytes > this.#end)
      throw new ProtocolError(`The ${bytes} bytes of place ${stamp} lie outside the shared memory.`)
    const whole = Buffer.allocUnsafeSlow(lead + own + bytes)
    whole.fill(0, 0, lead)
    from.copy(whole, lead, start, place)
    this.#stampBytes.fill(0)
    const isRead = this.#file.read([this.#stampBytes, whole.subarray(lead + own)], position, STAMP_BYTES + bytes)
    if (!isRead) throw new ProtocolError(`The shared memory ends before the ${bytes} bytes of place ${stamp}.`)
    checkStamp(this.#stampBytes, stamp, bytes)
    this.stamp = stamp
    return whole
  }
}
