import { PLACED_FROM, placedUpTo, STAMP_BYTES, writePlace, writeStamp } from './place.js'
import { PlaceRing } from './place-ring.js'
import { FIRST_PAGE, type SharedFile } from './shared-file.js'

/** After a write that failed for want of memory, FIRST_PAUSE payloads go through the pipe. The number doubles with each further failure, up to LONGEST_PAUSE. */
const FIRST_PAUSE = 8
const LONGEST_PAUSE = 4_096

/** Writes payloads into a file of shared memory that nobody else writes. */
export class PlaceWriter {
  readonly #file: SharedFile
  readonly #ring: PlaceRing
  readonly #head = Buffer.alloc(STAMP_BYTES)
  readonly #upTo: number
  #stamp = 0
  #position = 0
  #written = 0
  #pause = FIRST_PAUSE
  #skip = 0

  /** `capacity`: bytes for places, without the first page. `from`: the smallest payload that is written here, bytes. */
  constructor(
    file: SharedFile,
    capacity: number,
    readonly from = PLACED_FROM,
  ) {
    this.#file = file
    this.#ring = new PlaceRing(capacity)
    this.#upTo = placedUpTo(capacity)
  }

  get capacity(): number {
    return this.#ring.capacity
  }

  /** Nothing that was written is still to be read. */
  get empty(): boolean {
    return this.#ring.empty
  }

  /**
   * Writes the payload; `describe` then tells where. False: it must go through the pipe, because it is small, too large, or finds no room now.
   *
   * @param key frees the place, see `freeUpTo`
   */
  write(parts: readonly Uint8Array[], bytes: number, key = 0): boolean {
    if (bytes < this.from || bytes > this.#upTo) return false
    if (this.#skip > 0) {
      this.#skip--
      return false
    }
    const stamp = (this.#stamp + 1) >>> 0
    const start = this.#ring.take(STAMP_BYTES + bytes, key)
    if (start < 0) return false
    writeStamp(this.#head, stamp, bytes)
    if (!this.#file.write([this.#head, ...parts], FIRST_PAGE + start, STAMP_BYTES + bytes)) {
      this.#ring.freeLast()
      this.#skip = this.#pause
      this.#pause = Math.min(LONGEST_PAUSE, 2 * this.#pause)
      return false
    }
    this.#pause = FIRST_PAUSE
    this.#stamp = stamp
    this.#position = FIRST_PAGE + start
    this.#written = bytes
    return true
  }

  /** Tells where the last payload lies. */
  describe(to: Buffer, at: number): void {
    writePlace(to, at, this.#position, this.#written, this.#stamp)
  }

  /** All places up to this stamp have been read. */
  freeUpToStamp(stamp: number): void {
    // Stamps begin anew after 2^32.
    this.#ring.freeAllBut((this.#stamp - stamp) >>> 0)
  }

  /** The places with keys up to this one have been read. */
  freeUpTo(key: number): void {
    this.#ring.freeUpTo(key)
  }

  /** The places with keys above `after`, up to `upTo`, will not be read. */
  freeBetween(after: number, upTo: number): void {
    this.#ring.freeBetween(after, upTo)
  }
}
