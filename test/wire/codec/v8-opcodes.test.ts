import { deserialize, serialize } from 'node:v8'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode, encode } from '../../../src/wire/codec/index.js'
import { checkV8Opcodes, MAX_HOLES } from '../../../src/wire/codec/v8-opcodes.js'
import { SerializationError } from '../../../src/wire/errors.js'

const BY_V8 = 16
const head = [BY_V8, 0xff, 0x0f]

const withHole = (): unknown[] => {
  const list: unknown[] = []
  list[1] = 1
  return list
}

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))])
const refused = (...bytes: number[]): void => refusedAll(Buffer.from(bytes))
const refusedAll = (...parts: Buffer[]): void => {
  const began = process.memoryUsage()
  expect(() => decode(Buffer.concat([Buffer.from(head), ...parts]), 0)).toThrow(SerializationError)
  const { heapTotal, arrayBuffers } = process.memoryUsage()
  expect(heapTotal - began.heapTotal + arrayBuffers - began.arrayBuffers).toBeLessThan(50_000_000)
}

describe('opcodes of node:v8', () => {
  it('are known, for every value that is written', () => {
    const anything = fc.anything({ withBigInt: true, withBoxedValues: true, withDate: true, withMap: true, withSet: true, withSparseArray: true })
    fc.assert(
      fc.property(anything, fc.string(), (value, text) => {
        const bytes = serialize([value, text, `${text} größer ${text} 😀`, /a+\u{1F600}/giu, new String('b'), Object(-5n), -0, new Date(5)])
        checkV8Opcodes(bytes, 2)
        expect(deserialize(bytes)).toBeDefined()
      }),
      { numRuns: 300 },
    )
  })

  it('that are cut anywhere are refused, or a value cut short', () => {
    const bytes = encode([-0, 'text', 'größer €', 12n, /a/g, new Error('e', { cause: withHole() })], 0).body
    for (let end = 1; end < bytes.length; end += 1) expect(() => decode(Buffer.from(bytes.subarray(0, end)), 0)).toThrow(SerializationError)
  })

  const [A, SPARSE, ONE, END] = ['A', 'a', 'I', '@'].map((tag) => tag.charCodeAt(0)) as [number, number, number, number]

  it('with a length beyond the bytes are refused before anything is allocated', () => {
    refused(A, ...varint(30_000_000))
    refused(A, ...varint(0xffff_ffff))
    const claim = [A, ...varint(900_000)]
    refusedAll(Buffer.from(Array.from({ length: 300 }, () => claim).flat()), Buffer.alloc(1_000_000, '0'))
    refused(...Array.from({ length: 5 }, () => [SPARSE, ...varint(30_000_000), ONE, 0]).flat())
    // V8 drops the bits beyond 32.
    refused(...Array.from({ length: 5 }, () => [SPARSE, ...varint(2 ** 32 + 30_000_000), ONE, 0]).flat())
    refused('"'.charCodeAt(0), ...varint(0xffff_fff0))
    refused('Z'.charCodeAt(0), ...varint(0xffff_fff0))
  })

  it.each(['u', 'w', 'W', 'm', 'p', 't', 'B', '~', 'V', 'r', 'S', 'h', '?', '}'])('that are not ours are refused: %s', (tag) => {
    refused(tag.charCodeAt(0), 0, 0, 0, 0)
  })

  it.each([0, 8, 13, 14, 127])('of version %i are refused', (version) => {
    expect(() => decode(Buffer.from([BY_V8, 0xff, version, 0x30]), 0)).toThrow('version')
  })

  it('of a long array with holes are the dictionary that it was', () => {
    const far: unknown[] = []
    far[4_000_000_000] = 'far'
    const bytes = encode(far, 0).body
    expect(bytes.length).toBeLessThan(100)
    const back = decode(bytes, 0) as unknown[]
    expect([back.length, back[4_000_000_000], Object.keys(back).length]).toEqual([4_000_000_001, 'far', 1])
    refused(END, 0)
  })

  it('with too many holes are refused by the sender, with the path', () => {
    const many: unknown[] = []
    many[MAX_HOLES - 1] = 1
    expect(() => encode({ list: [0, many, withHole()] }, 0)).toThrow(/^value\.list\[2\] and other arrays with holes have more than \d+ elements together$/)
  })
})
