/** Bytes that msgpackr alone would spend memory on, would run extensions for, or would read as another value than was sent. */
import { expect, test } from 'vitest'
import { UndecodableError } from '../../../src/runtime/errors.js'
import { decodeJob, encodeJob } from '../../../src/runtime/message/job.js'
import { decodeReply } from '../../../src/runtime/message/reply.js'
import { bytesOf } from '../../fuzz/corpus.js'

const MB = 1_000_000

/** `{ ok: true, value }`, the body of a reply. */
const reply = (value: Buffer): Buffer => Buffer.concat([Buffer.from('\x82\xa2ok\xc3\xa5value', 'latin1'), value])

const refusal = (value: Buffer): string => {
  const body = reply(value)
  try {
    decodeReply(body)
    return 'none'
  } catch (error) {
    expect(error).toBeInstanceOf(UndecodableError)
    return (error as Error).message
  }
}

const head = (type: number, count: number): Buffer => {
  const bytes = Buffer.alloc(5, type)
  bytes.writeUInt32BE(count, 1)
  return bytes
}

/** Heads of arrays or maps within one another, each of which announces as much as there is room for. */
const nestedHeads = (type: number, count: number, bytesEach: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => head(type, Math.floor((5 * (count - 1 - i)) / bytesEach))))

const hostile: [name: string, value: () => Buffer, says: string][] = [
  ['a thousand bytes of heads of arrays', () => nestedHeads(0xdd, 200, 1), 'ends too early'],
  ['heads of arrays, deeper than is allowed', () => nestedHeads(0xdd, 1_000, 1), 'nested more than 256 deep'],
  ['heads of maps', () => nestedHeads(0xdf, 200, 2), 'neither text nor a number'],
  ['heads that announce four billion elements', () => bytesOf('ddffffffff*200'), '4294967295 elements are announced'],
  ['a head of an array that announces one element more than is left', () => bytesOf('dc00030101'), '3 elements are announced'],
  ['a head of a map that announces one entry more than is left', () => bytesOf('82a00101'), '2 elements are announced'],
  ['short heads of arrays', () => bytesOf('9f*100000'), 'nested more than 256 deep'],
  ['short heads of maps', () => bytesOf('8fa161*100000'), 'nested more than 256 deep'],
  ['text of four billion bytes', () => bytesOf('dbffffffff'), 'ends too early, 4294967295 more bytes'],
  ['a binary of four billion bytes', () => bytesOf('c6ffffffff'), 'ends too early, 4294967295 more bytes'],
  ['sixteen million empty maps', () => Buffer.concat([head(0xdd, 16 * MB), Buffer.alloc(16 * MB, 0x80)]), 'more than 5000000 values'],
  ['six million empty arrays', () => Buffer.concat([head(0xdd, 6 * MB), Buffer.alloc(6 * MB, 0x90)]), 'more than 5000000 values'],
]

test.for(hostile)('refused before anything is made of it: %s', ([, value, says]) => {
  const bytes = value()
  refusal(bytes.subarray(0, 10))
  const before = process.memoryUsage()
  expect(refusal(bytes)).toContain(says)
  const after = process.memoryUsage()
  // The body itself is copied once here, behind the head of the reply.
  const grown = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers - bytes.length
  expect(grown).toBeLessThan(4 * MB)
})

test('a body that begins as the one before may nest as deep as any, and no deeper', () => {
  const headers = { contentType: 'application/msgpack', contentEncoding: undefined, schemaVersion: 1 }
  const { body } = encodeJob({ task: 'a', args: [] })
  const nested = (depth: number): Buffer => Buffer.concat([body.subarray(0, -1), Buffer.alloc(depth - 1, 0x91), Buffer.of(0x90)])
  for (let times = 0; times < 2; times++) {
    const decode = (depth: number): unknown => decodeJob(nested(depth), headers, { maxBodySize: 1_000 })
    expect(decode(255)).toMatchObject({ task: 'a' })
    expect(() => decode(256)).toThrow('nested more than 256 deep')
  }
})

test('a key that is repeated, and must be marked each time, is read without recursion', () => {
  const count = 200_000
  const value = Buffer.concat([head(0xdf, count), bytesOf(`a95f5f70726f746f5f5f01*${count - 1}`), bytesOf('a95f5f70726f746f5f5f02')])
  const { value: map } = decodeReply(reply(value)) as { value: object }
  expect(Object.getPrototypeOf(map)).toBe(Object.prototype)
  expect(Object.entries(map)).toEqual([['__proto__', 2]])
})

test('no extension but the timestamp is run: not those of msgpackr, nor those by which its reading is corrected', () => {
  const extensions = [
    ...['d40000', 'd40100', 'd4010005', 'd4020061', 'd4030005', 'd4040080', 'd4100000'],
    // Records, bundled text, references, errors, sets, typed arrays, regular expressions, large integers.
    ...['d472409161a162', 'd57240009161a162', 'd66200000000', 'd6690000000190', 'd67000000001', 'd4650093a1617a', 'd4730090', 'c7027400ff'],
    ...['d4780092a161a167', 'd742ffffffffffffffff', 'c70042', 'c8000042', 'c90000000042', 'd80000000000000000000000000000000000'],
  ]
  for (const extension of extensions) expect(refusal(bytesOf(extension))).toContain('only the timestamp (-1) is known')
  expect(refusal(bytesOf('c1'))).toContain('0xc1')
  // What would be the name of a record is a number.
  expect(decodeReply(reply(bytesOf('40')))).toEqual({ ok: true, value: 0x40 })
})

test('text that is not UTF-8 is refused at any length, also as a key', () => {
  for (const bytes of ['ff', 'c3', 'eda080', 'c0af', 'f4908080', 'e28281ff']) {
    for (const before of [0, 10, 28, 60, 61, 62, 100]) {
      const text = Buffer.concat([Buffer.alloc(before, 0x61), Buffer.from(bytes, 'hex')])
      const packed = Buffer.concat([Buffer.from([0xd9, text.length]), text])
      expect(refusal(packed)).toContain('not UTF-8')
      expect(refusal(Buffer.concat([Buffer.of(0x81), packed, Buffer.of(1)]))).toContain('not UTF-8')
    }
  }
})

test('timestamps of every form and edge are read in whole milliseconds, those that no Date holds are refused', () => {
  const read = (hex: string): number => (decodeReply(reply(bytesOf(hex))) as { value: Date }).value.getTime()
  expect(read('d6ffffffffff')).toBe(0xffff_ffff * 1_000)
  expect(read('c704ff00000001')).toBe(1_000)
  expect(read('d7ffee6b27ffffffffff')).toBe((2 ** 34 - 1) * 1_000 + 999)
  expect(read('c708ffee6b27fc00000000')).toBe(999)
  // One nanosecond before 1970: in the millisecond before, not in that after.
  expect(read('c70cff3b9ac9ffffffffffffffffff')).toBe(-1)
  expect(read('c70cff3b9ac9ff000007dba8217fff')).toBe(8.64e15 - 1)
  for (const hex of ['d7ffee6b280000000000', 'c70cff3b9aca000000000000000000', 'c70cff000f4240000007dba8218000', 'c70cff000000007fffffffffffffff'])
    expect(refusal(bytesOf(hex))).toContain('a timestamp that no Date can hold')
  for (const hex of ['d4ff00', 'd5ff0000', `d8ff${'00'.repeat(16)}`, 'c700ff', 'c70bff'.concat('00'.repeat(11))])
    expect(refusal(bytesOf(hex))).toContain('a timestamp of')
})

test('a body is left as it came, and what is read of it does not share its memory', () => {
  const body = reply(bytesOf('92c403010203a95f5f70726f746f5f5f'))
  const before = Buffer.from(body)
  const { value } = decodeReply(body) as { value: [Buffer, string] }
  expect(Object.keys(body)).toHaveLength(body.length)
  expect(body.equals(before)).toBe(true)
  body.fill(0)
  expect(value).toEqual([Buffer.from([1, 2, 3]), '__proto__'])
  expect(Buffer.isBuffer(value[0])).toBe(true)
})
