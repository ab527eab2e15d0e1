/**
 * msgpackr's packer and unpacker, with extensions for values that they alone would alter. The table of extensions belongs to the module of
 * msgpackr. The module is bundled, so that a host that uses msgpackr itself has another table.
 */
import msgpackr from 'msgpackr/index-no-eval'
import { MAX_TIME } from '../../../util/limits.js'
import { UndecodableError } from '../../errors.js'
import { MARK, TIMESTAMP } from './format.js'

/** A number that msgpackr would write as another type: -0 as an integer, a positive integer of 64 bits as a signed one. */
export class Wide {
  constructor(
    readonly type: number,
    readonly bits: bigint,
  ) {}
}

/** Stands for the key `__proto__` until its map has been read: half of a surrogate pair, which no text in UTF-8 holds. */
const PROTO = '\ud800'

const withProto = (map: object): object => Object.fromEntries(Object.entries(map).map(([key, value]) => [key === PROTO ? '__proto__' : key, value]))

/** msgpackr's own reader adds the nanoseconds as a float. So it rounds a far time up, and a time before 1970 towards 1970. */
const readTimestamp = (bytes: Buffer): Date => {
  let [seconds, nanoseconds] = [bytes.readUInt32BE(bytes.length - 4), 0]
  if (bytes.length === 8) {
    seconds += (bytes[3]! & 3) * 2 ** 32
    nanoseconds = bytes.readUInt32BE() >>> 2
  } else if (bytes.length === 12) {
    seconds = Number(bytes.readBigInt64BE(4))
    nanoseconds = bytes.readUInt32BE()
  }
  const time = seconds * 1_000 + Math.floor(nanoseconds / 1_000_000)
  if (nanoseconds > 999_999_999 || Math.abs(time) > MAX_TIME) throw new UndecodableError('The body is not MessagePack: a timestamp that no Date can hold.')
  return new Date(time)
}

msgpackr.addExtension({
  Class: Wide,
  // msgpackr demands a type. This one is never written.
  type: 16,
  pack(value, allocate) {
    const { type, bits } = value as Wide
    const { target, position } = allocate(9)
    target[position] = type
    target.writeBigUInt64BE(bits, position + 1)
  },
})
msgpackr.addExtension({ type: TIMESTAMP & 0xff, unpack: readTimestamp })
msgpackr.addExtension({ type: MARK.BIG_INT, read: (value) => BigInt(value as number) })
msgpackr.addExtension({ type: MARK.BYTE_ORDER_MARK, read: (text) => `\ufeff${text}` })
msgpackr.addExtension({ type: MARK.PROTO_KEY, read: (key) => (key === '__proto__' ? PROTO : key) })
msgpackr.addExtension({ type: MARK.PROTO_MAP, read: (map) => withProto(map as object) })

export const packr = new msgpackr.Packr({ useRecords: false, variableMapSize: true, useToJSON: false })

/** Binaries are copied: the body lies in a larger buffer of the connection's, which they would keep alive. */
export const unpackr = new msgpackr.Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'auto', copyBuffers: true })
