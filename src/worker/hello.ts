import { PACKED } from '../wire/codec/format.js'
import { FRAME_HEAD, type Hello, Kind, LENGTH_BYTES, PROTOCOL_VERSION } from '../wire/messages.js'

/** Encodes HELLO by hand, for the codec is not loaded yet. */
export const helloFrame = (pid: number, node: string): Buffer => {
  const hello: Hello = { protocol: PROTOCOL_VERSION, pid, node }
  const entries = Object.entries(hello).flatMap(([key, value]) => [packed(key), packed(value)])
  const payload = Buffer.concat([Buffer.from([PACKED, 0x80 | Object.keys(hello).length]), ...entries])
  const head = Buffer.alloc(FRAME_HEAD)
  head.writeUInt32LE(FRAME_HEAD - LENGTH_BYTES + payload.length)
  head[LENGTH_BYTES] = Kind.HELLO
  return Buffer.concat([head, payload])
}

/** MessagePack: str8 for strings, uint32 for numbers. */
const packed = (value: string | number): Buffer => {
  if (typeof value === 'string') return Buffer.concat([Buffer.from([0xd9, Buffer.byteLength(value)]), Buffer.from(value)])
  const number = Buffer.alloc(5, 0xce)
  number.writeUInt32BE(value, 1)
  return number
}
