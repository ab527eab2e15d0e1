import { PLAIN } from '../../wire/codec/format.js'
import { DICTIONARY, DOUBLE, TEXT } from '../../wire/codec/plain/opcodes.js'
import { FRAME_HEAD, type Hello, Kind, LENGTH_BYTES, PROTOCOL_VERSION } from '../../wire/messages.js'

/** Encodes HELLO by hand, for the codec is not loaded yet. */
export const helloFrame = (pid: number, node: string): Buffer => {
  const hello: Hello = { protocol: PROTOCOL_VERSION, pid, node }
  const entries = Object.entries(hello).flatMap(([key, value]) => [word(key), word(value)])
  const payload = Buffer.concat([Buffer.from([PLAIN, DICTIONARY, Object.keys(hello).length, 0, 0, 0]), ...entries])
  const head = Buffer.alloc(FRAME_HEAD)
  head.writeUInt32LE(FRAME_HEAD - LENGTH_BYTES + payload.length)
  head[LENGTH_BYTES] = Kind.HELLO
  return Buffer.concat([head, payload])
}

/** Texts are short, and of characters of one byte. */
const word = (value: string | number): Buffer => {
  if (typeof value === 'string') return Buffer.from(String.fromCharCode(TEXT | value.length) + value, 'latin1')
  const number = Buffer.alloc(9, DOUBLE)
  number.writeDoubleLE(value, 1)
  return number
}
