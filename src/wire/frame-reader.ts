import { ProtocolError } from './errors.js'
import { FIXED_BYTES, LENGTH_BYTES } from './messages.js'

/** Gets each frame's body as `bytes[start..end)`. The bytes are the reader's chunk: valid after the call, never written again. */
export type FrameSink = (bytes: Buffer, start: number, end: number) => void

/**
 * Header, then body: resumed with each chunk, it calls `sink` for every whole frame, however the bytes were cut. A body that
 * spans chunks is allocated once, when its length is known. Throws ProtocolError on a length that cannot be.
 */
export function* frameReader(sink: FrameSink, maxBody: number): Generator<undefined, never, Buffer> {
  let chunk: Buffer = yield
  let at = 0
  for (;;) {
    while (chunk.length - at < LENGTH_BYTES) {
      const rest = chunk.subarray(at)
      const next: Buffer = yield
      chunk = rest.length === 0 ? next : Buffer.concat([rest, next])
      at = 0
    }
    const length = chunk.readUInt32LE(at)
    if (length < FIXED_BYTES || length > maxBody) {
      throw new ProtocolError(`A frame of ${length} bytes: a body has ${FIXED_BYTES} to ${maxBody} bytes.`)
    }
    at += LENGTH_BYTES
    if (chunk.length - at >= length) {
      sink(chunk, at, at + length)
      at += length
      continue
    }
    const body = Buffer.allocUnsafeSlow(length)
    let filled = chunk.copy(body, 0, at)
    while (filled < length) {
      chunk = yield
      at = Math.min(chunk.length, length - filled)
      chunk.copy(body, filled, 0, at)
      filled += at
    }
    sink(body, 0, length)
  }
}
