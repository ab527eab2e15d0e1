import { ProtocolError } from './errors.js'
import { bodyBytesAt, FIXED_BYTES, LENGTH_BYTES } from './frame.js'

/** Gets each frame's body as `bytes[start..end)`. The memory is never written again. */
export type FrameSink = (bytes: Buffer, start: number, end: number) => void

/** The length that precedes a body. Throws ProtocolError if no frame can have it. */
export const checkedBodyBytes = (bytes: Buffer, at: number, maxBody: number): number => {
  const length = bodyBytesAt(bytes, at)
  if (length < FIXED_BYTES || length > maxBody) throw new ProtocolError(`A frame of ${length} bytes: a body has ${FIXED_BYTES} to ${maxBody} bytes.`)
  return length
}

const never = (): boolean => false

/**
 * Resumed with each chunk, it calls `sink` for every whole frame, wherever the chunks were cut. A body that spans chunks is
 * allocated once, when its length is known. Throws ProtocolError for a length that no frame can have.
 *
 * Yields true between two frames of a chunk where `isOver` says so: it is then resumed with no bytes.
 */
export function* frameReader(sink: FrameSink, maxBody: number, isOver = never): Generator<boolean | undefined, never, Buffer> {
  let chunk: Buffer = yield
  let at = 0
  for (;;) {
    while (chunk.length - at < LENGTH_BYTES) {
      const rest = chunk.subarray(at)
      const next: Buffer = yield
      chunk = rest.length === 0 ? next : Buffer.concat([rest, next])
      at = 0
    }
    const length = checkedBodyBytes(chunk, at, maxBody)
    at += LENGTH_BYTES
    if (chunk.length - at >= length) {
      sink(chunk, at, at + length)
      at += length
      if (at < chunk.length && isOver()) yield true
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
