/**
 * Reads the frames of deliveries. amqplib makes nine Buffers for each message, and decodes the same names again and again: that was a sixth of what a
 * no-op cost a node. Here the frames of a delivery are decoded in place, and texts that are those of the message before are taken from there.
 *
 * This replaces a function inside amqplib's connection. So it is used only where it decodes a sample exactly as that function does, and whatever it
 * does not know goes to that function.
 */
import { isDeepStrictEqual } from 'node:util'
import { DeliveryDecoder, type Frame } from './delivery-decoder.js'

/** The part of amqplib's internal connection that reads frames. */
export interface FrameSource {
  /** Bytes that are not decoded. */
  rest: Buffer
  readonly stream: { read(): Buffer | null }
  readonly maxFrameSize: number
  /** For the heartbeat. */
  recvSinceLastCheck: boolean
  recvFrame(): Frame | false
}

const FRAME_END = 0xce
/** Type, channel and size; and the end. */
const HEAD = 7
const OVERHEAD = HEAD + 1

class FrameReader {
  readonly #source: FrameSource
  readonly #original: () => Frame | false
  #bytes: Buffer
  #at = 0
  readonly #decoder = new DeliveryDecoder()

  constructor(source: FrameSource, original: () => Frame | false) {
    this.#source = source
    this.#original = original
    this.#bytes = source.rest
  }

  next(): Frame | false {
    for (;;) {
      const bytes = this.#bytes
      const at = this.#at
      const left = bytes.length - at
      if (left >= HEAD) {
        const size = bytes.readUInt32BE(at + 3)
        const { maxFrameSize } = this.#source
        // amqplib's own function refuses it, with its error.
        if (maxFrameSize > 0 && size > maxFrameSize) return this.#byOriginal(bytes, at, bytes.length)
        if (left >= size + OVERHEAD) {
          const end = at + HEAD + size
          this.#at = end + 1
          return (bytes[end] === FRAME_END && this.#decoder.decode(bytes, at, end)) || this.#byOriginal(bytes, at, end + 1)
        }
      }
      const incoming = this.#source.stream.read()
      if (incoming === null) return false
      this.#source.recvSinceLastCheck = true
      this.#bytes = left === 0 ? incoming : Buffer.concat([bytes.subarray(at), incoming])
      this.#at = 0
    }
  }

  #byOriginal(bytes: Buffer, from: number, to: number): Frame | false {
    this.#source.rest = bytes.subarray(from, to)
    return this.#original.call(this.#source)
  }
}

/** Frames of a delivery that have every property, and a header of every type, that is decoded here. */
const SAMPLE = Buffer.from(
  [
    ['01 0001', '003c003c', '03 c3a974', '0000000100000002', '01', '01 78', '01 71'],
    [
      ['02 0001', '003c 0000 0000000000000002', 'ffc0', '01 6a', '01 67'],
      ['00000028', '01 62 62 ff', '01 53 53 00000002 c3a9', '01 74 74 01', '01 73 73 8001', '01 49 49 80000001', '01 6c 6c 8000000100000001'],
      ['02', '07', '01 63', '01 72', '01 65', '01 6d', '0000000100000003'],
    ].flat(),
    ['03 0001', '7b7d'],
  ]
    .map(([head = '', ...payload]) => {
      const bytes = payload.join('').replaceAll(' ', '')
      return `${head.replaceAll(' ', '')}${(bytes.length / 2).toString(16).padStart(8, '0')}${bytes}ce`
    })
    .join(''),
  'hex',
)
const SAMPLE_FRAMES = 3

const sampleSource = (): FrameSource => ({
  rest: SAMPLE,
  stream: { read: () => null },
  maxFrameSize: SAMPLE.length,
  recvSinceLastCheck: false,
  recvFrame: () => false,
})

/** Whether the frames of the sample are decoded here as `original` decodes them. */
const decodesAlike = (original: () => Frame | false): boolean => {
  try {
    const source = sampleSource()
    const reader = new FrameReader(sampleSource(), () => false)
    for (let i = 0; i < SAMPLE_FRAMES; i++) {
      const frame = reader.next()
      if (frame === false || !isDeepStrictEqual(original.call(source), frame)) return false
    }
    return source.rest.length === 0
  } catch {
    return false
  }
}

let checked: { readonly original: () => Frame | false; readonly alike: boolean } | undefined

/** Replaces the function of an open connection of amqplib that reads frames. Returns false, and changes nothing, for a connection of another kind. */
export const readDeliveriesInPlace = (connection: object): boolean => {
  const source = connection as FrameSource
  const { recvFrame, rest, stream, maxFrameSize } = source as Partial<FrameSource>
  if (typeof recvFrame !== 'function' || !Buffer.isBuffer(rest) || typeof stream?.read !== 'function' || typeof maxFrameSize !== 'number') return false
  if (checked?.original !== recvFrame) checked = { original: recvFrame, alike: decodesAlike(recvFrame) }
  if (!checked.alike) return false
  const reader = new FrameReader(source, recvFrame)
  source.recvFrame = () => reader.next()
  return true
}
