import { PLAIN } from '../../wire/codec/format.js'
import { DICTIONARY, DOUBLE, TEXT } from '../../wire/codec/plain/opcodes.js'
import { FIXED_BYTES, FRAME_HEAD, writeHead } from '../../wire/frame.js'
import { type Hello, Kind, PROTOCOL_VERSION } from '../../wire/messages.js'

/** Encodes HELLO by hand: the codec is not loaded yet. */
export const helloFrame = (pid: number, node: string): Buffer => {
  const hello: Hello = { protocol: PROTOCOL_VERSION, pid, node }
  const entries = Object.entries(hello).flatMap(([key, value]) => [encoded(key), encoded(value)])
  const payload = Buffer.concat([Buffer.from([PLAIN, DICTIONARY, Object.keys(hello).length, 0, 0, 0]), ...entries])
  const head = Buffer.alloc(FRAME_HEAD)
  writeHead(head, 0, FIXED_BYTES + payload.length, Kind.HELLO, 0, 0, 0, 0)
  return Buffer.concat([head, payload])
}

/** Of a number, or of a short text whose characters take one byte each. */
const encoded = (value: string | number): Buffer => {
  if (typeof value === 'string') return Buffer.from(String.fromCharCode(TEXT | value.length) + value, 'latin1')
  const number = Buffer.alloc(9, DOUBLE)
  number.writeDoubleLE(value, 1)
  return number
}
