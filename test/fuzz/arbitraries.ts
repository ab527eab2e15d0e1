/** Generates nearly valid bytes: pure noise would be refused at its first byte. */
import fc from 'fast-check'
import { encode } from '../../src/wire/codec/index.js'
import { entries, type Target } from './corpus.js'

const byte = fc.integer({ min: 0, max: 255 })
const u32 = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 2, 15, 16, 17, 0x7fffffff, 0x80000000, 0xffffffff), weight: 2 },
  { arbitrary: fc.integer({ min: 0, max: 300 }), weight: 3 },
)
const joined = (parts: fc.Arbitrary<Buffer>, options: fc.ArrayConstraints): fc.Arbitrary<Buffer> => fc.array(parts, options).map((list) => Buffer.concat(list))
const raw = (max: number): fc.Arbitrary<Buffer> => fc.uint8Array({ maxLength: max }).map((bytes) => Buffer.from(bytes))

const le32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
const names = ['__proto__', 'constructor', 'prototype', 'toString', 'length', 'then', 'push', 'a', 'key', '']
const plainText = fc.constantFrom(...names).map((text) => Buffer.concat([Buffer.from([0x80 | text.length]), Buffer.from(text)]))
/** Plain content: opcodes and their operands in any order. */
const plainOpcode: fc.Arbitrary<Buffer> = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 0x7f }).map((value) => Buffer.from([value])), weight: 3 },
  { arbitrary: plainText, weight: 4 },
  { arbitrary: fc.constantFrom(0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3, 0xdf, 0xe0, 0xe1, 0xe2, 0xe3).map((opcode) => Buffer.from([opcode])), weight: 6 },
  {
    arbitrary: fc.array(plainText, { maxLength: 4 }).map((keys) => {
      const definition = Buffer.concat(keys)
      return Buffer.concat([Buffer.from([0xea, definition.length, 0, keys.length]), definition])
    }),
    weight: 4,
  },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(0xe7, 0xe8, 0xe9, 0xec, 0xee, 0xef, 0xf0), u32)
      .map(([opcode, value]) => Buffer.concat([Buffer.from([opcode]), le32(value)])),
    weight: 4,
  },
  {
    arbitrary: fc.tuple(fc.constantFrom(0xe4, 0xe5, 0xe6, 0xeb, 0xed), raw(9)).map(([opcode, rest]) => Buffer.concat([Buffer.from([opcode]), rest])),
    weight: 2,
  },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(0, 1, 6, 12, 100, 101, 102, 255), u32, u32, u32)
      .map(([kind, ...rest]) => Buffer.concat([Buffer.from([0xf2, kind]), ...rest.map(le32)])),
    weight: 2,
  },
  { arbitrary: fc.tuple(byte, plainText).map(([sign, digits]) => Buffer.concat([Buffer.from([0xf1, sign]), digits])), weight: 1 },
  { arbitrary: raw(9), weight: 1 },
)

const varint = u32.map((value) => {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.from(bytes)
})
const v8Tags = '^ _0TFINUZDyxnzsocSR"a@A$;:\'!BtuwWVmM\\prh7Eu~b{-'.split('').map((tag) => tag.charCodeAt(0))
const v8Tag: fc.Arbitrary<Buffer> = fc.oneof(
  { arbitrary: fc.tuple(fc.constantFrom(...v8Tags), varint).map(([tag, number]) => Buffer.concat([Buffer.from([tag]), number])), weight: 5 },
  { arbitrary: fc.constantFrom(...v8Tags).map((tag) => Buffer.from([tag])), weight: 3 },
  { arbitrary: fc.constantFrom(...names).map((text) => Buffer.concat([Buffer.from([0x22, text.length]), Buffer.from(text)])), weight: 3 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(100, 101, 102, 0, 1, 6, 12), varint, varint, varint)
      .map(([kind, ...rest]) => Buffer.concat([Buffer.from([0x5c, kind]), ...rest])),
    weight: 1,
  },
  { arbitrary: raw(9), weight: 1 },
)

const plain = joined(plainOpcode, { maxLength: 60 })
const byV8 = fc
  .tuple(fc.constantFrom(0x0f, 0x0f, 0x0f, 0x0d, 0x0e, 0x09, 0x0a, 0x0c, 0x00, 0x10), joined(v8Tag, { maxLength: 60 }))
  .map(([version, rest]) => Buffer.concat([Buffer.from([0xff, version]), rest]))

const table = fc
  .tuple(u32, fc.option(u32, { nil: undefined }), fc.array(fc.tuple(u32, u32, fc.integer({ min: 0, max: 7 })), { maxLength: 5 }))
  .map(([content, count, blobs]) =>
    Buffer.concat([
      le32(content),
      le32(count ?? blobs.length),
      ...blobs.map(([length, limit, flags]) => Buffer.concat([le32(length), le32(limit), Buffer.from([flags])])),
    ]),
  )
const withTable = fc.tuple(table, fc.oneof(plain, byV8), raw(40)).map((parts) => Buffer.concat(parts))

const unstructured = fc.oneof(
  fc.tuple(fc.constantFrom(0x20, 0x24), plain).map(([format, rest]) => Buffer.concat([Buffer.from([format]), rest])),
  byV8.map((rest) => Buffer.concat([Buffer.from([16]), rest])),
  byV8.map((rest) => Buffer.concat([Buffer.from([18]), rest])),
  fc.tuple(fc.constantFrom(17, 19, 33, 37), withTable).map(([format, rest]) => Buffer.concat([Buffer.from([format]), rest])),
  raw(200),
)

const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withSparseArray: true,
})
const rows = fc.array(fc.record({ id: fc.integer(), constructor: fc.string(), name: fc.string() }), { minLength: 8, maxLength: 12 })
const valid = fc.oneof(anything, rows, fc.constant(new Error('an error', { cause: new TypeError('its cause') }))).map((value) => {
  const { body, binaries } = encode(value, 0)
  return Buffer.concat([body, ...binaries])
})

const edit = fc.tuple(fc.constantFrom('flip', 'insert', 'remove', 'cut', 'repeat'), fc.nat(), fc.nat(), byte)
type Edit = readonly [string, number, number, number]

const edited = (bytes: Buffer, [how, where, much, value]: Edit): Buffer => {
  if (bytes.length === 0) return Buffer.from([value])
  const at = where % bytes.length
  const end = Math.min(bytes.length, at + (much % 9))
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (how) {
    case 'flip': {
      const copy = Buffer.from(bytes)
      copy[at] = value
      return copy
    }
    case 'insert':
      return Buffer.concat([before, Buffer.alloc(much % 5, value), after])
    case 'remove':
      return Buffer.concat([before, bytes.subarray(end)])
    case 'cut':
      return Buffer.from(before)
    default:
      return Buffer.concat([before, bytes.subarray(at, end), after])
  }
}

const mutated = (source: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc.tuple(source, fc.array(edit, { minLength: 0, maxLength: 6 })).map(([bytes, edits]) => edits.reduce(edited, bytes))

/** Short entries of the corpus: long ones, and the array of 30 million, would only be slow; the corpus test runs them all. */
const short = (target: Target): fc.Arbitrary<Buffer> =>
  fc.constantFrom(
    ...entries(target)
      .filter(([name, bytes]) => bytes.length <= 2_000 && !name.includes('30 million'))
      .map(([, bytes]) => bytes),
  )

const values = fc.oneof(unstructured, mutated(valid), mutated(short('values')))

const KINDS: Record<Exclude<Target, 'values' | 'faktory'>, readonly number[]> = {
  results: [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27],
  lifeline: [48, 49, 50, 51, 52, 53],
  jobs: [1, 2, 3, 4],
}

const frame = (target: keyof typeof KINDS): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.oneof({ arbitrary: fc.constantFrom(...KINDS[target]), weight: 9 }, { arbitrary: byte, weight: 1 }),
      byte,
      raw(14),
      fc.oneof(values, raw(40)),
      fc.option(u32, { nil: undefined, freq: 20 }),
    )
    .map(([kind, flags, fixed, payload, falseLength]) => {
      const body = Buffer.concat([Buffer.from([kind, flags]), Buffer.concat([fixed, Buffer.alloc(14)]).subarray(0, 14), payload])
      return Buffer.concat([le32(falseLength ?? body.length), body])
    })

/** Answers of a Faktory server, and parts of them. */
const answer = fc.oneof(
  fc
    .constantFrom('+OK\r\n', '$-1\r\n', '-ERR no\r\n', ':1\r\n', '$', '-', '+', ':', '\r\n', '\r', '\n', '$0\r\n\r\n', '$4097\r\n')
    .map((text) => Buffer.from(text)),
  u32.map((length) => Buffer.from(`$${length}\r\n`)),
  raw(40).map((body) => Buffer.concat([Buffer.from(`$${body.length}\r\n`), body, Buffer.from('\r\n')])),
)

/** For each target: bytes, and the offsets at which they are cut. */
export const inputs: Record<Target, fc.Arbitrary<readonly [Buffer, number[]]>> = {
  values: values.map((bytes) => [bytes, []] as const),
  results: fc.tuple(
    fc.oneof(joined(frame('results'), { maxLength: 4 }), mutated(joined(frame('results'), { maxLength: 3 })), mutated(short('results'))),
    fc.array(fc.nat(), { maxLength: 8 }),
  ),
  lifeline: fc.tuple(fc.oneof(joined(frame('lifeline'), { maxLength: 4 }), mutated(short('lifeline'))), fc.array(fc.nat(), { maxLength: 8 })),
  faktory: fc.tuple(
    fc.oneof(joined(answer, { maxLength: 8 }), mutated(joined(answer, { maxLength: 4 })), mutated(short('faktory'))),
    fc.array(fc.nat(), { maxLength: 8 }),
  ),
  jobs: fc.tuple(fc.oneof(joined(frame('jobs'), { maxLength: 4 }), mutated(short('jobs'))), fc.array(fc.nat(), { maxLength: 8 })),
}
