/** Plain content: which values it takes, its tables, and its limits. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode } from '../../../src/wire/codec/index.js'
import { runs } from '../../fixtures/runs.js'
import { sent, wire } from './help.js'
import { difference } from './same.js'

const PLAIN = 32
const FLAG_SAME = 4
const formatOf = (value: unknown): number => wire(value)[20]!

const same = (value: unknown): void => expect(difference(sent(value), structuredClone(value))).toBeUndefined()

class Point {
  x = 1
  get y(): number {
    return 2
  }
}
const inherited = Object.assign(Object.create({ above: 1 }) as object, { own: 1 })
const twice = { a: [1] }
const circle: unknown[] = [new Map()]
circle.push({ circle }, circle[0])

describe('goes as plain content', () => {
  const plain: Record<string, unknown> = {
    'numbers of every width': [0, 127, 128, -1, 32_767, 32_768, -32_768, -32_769, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 0.1, -0, Number.NaN],
    'any text': ['', 'é', 'Ω', '\ud800', '\ufeffx', 'x'.repeat(63), 'x'.repeat(64), 'é'.repeat(64), 'Ω'.repeat(63), `${'x'.repeat(64)}\udc00`],
    'texts of every short length': Array.from({ length: 70 }, (_, length) => 'é'.repeat(length)),
    'keys that Object.prototype has': JSON.parse('[{"__proto__":{"a":1},"constructor":2},{"toString":1,"__proto__":null}]') as unknown,
    'odd keys': [{ '': 1, '\ud800': 2, Ω: 3, 7: 4 }, { ['k'.repeat(201)]: 1 }],
    'more keys than a shape has': Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, i])),
    'as many keys as a shape has': Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`k${i}`, i])),
    'more shapes than have opcodes of their own': Array.from({ length: 40 }, (_, i) => [{ [`s${i % 20}`]: i }, { [`s${i % 20}`]: i, b: 1 }]),
    'empty ones': [{}, [], {}, new Map(), new Set(), '', 0n],
    instances: [new Point(), inherited, Object.assign(Object.create(null) as object, { a: 1 })],
    'maps and sets': new Map<unknown, unknown>([
      [[1], { a: new Set([1, [2]]) }],
      ['k', new Map([[1, [[]]]])],
    ]),
    bigints: [0n, -1n, 2n ** 64n, -(2n ** 64n), 3n ** 500n],
    dates: [new Date(0), new Date(Number.NaN), new Date(-1.5e12)],
    'as deep as it goes': Array.from({ length: 400 }).reduce<unknown>((inner) => [inner], 0),
  }
  for (const [name, value] of Object.entries(plain)) {
    test(name, () => {
      expect(formatOf(value)).toBe(PLAIN)
      same(value)
    })
  }

  test('objects that appear twice, or hold themselves', () => {
    for (const value of [[twice, twice], circle, [new Date(1), twice, [twice.a]]]) {
      expect(formatOf(value) & PLAIN).toBe(PLAIN)
      same(value)
    }
    expect(formatOf(circle)).toBe(PLAIN | FLAG_SAME)
    const many = Array.from({ length: 300 }, (_, i) => ({ i }))
    same([many, many[299], many.toReversed()])
  })
})

describe('goes by node:v8', () => {
  const other: Record<string, unknown> = {
    'deeper than it goes': Array.from({ length: 401 }).reduce<unknown>((inner) => ({ inner }), 0),
    'an error behind much that is plain': [...Array.from({ length: 100 }, (_, i) => ({ i, inner: { i } })), new Map([[1, new Error('x')]])],
    'an array with a property': [[Object.assign([1], { extra: 1 })]],
    // biome-ignore lint/suspicious/noSparseArray: holes are the point
    holes: [{ a: [1, , 2] }],
    'boxed primitives': [{ a: Object(1) as unknown }],
  }
  for (const [name, value] of Object.entries(other)) {
    test(name, () => {
      expect(formatOf(value) & PLAIN).toBe(0)
      same(value)
    })
  }

  test('without calling a getter a second time', () => {
    const calls: Record<string, number> = {}
    const counting = (name: string, rest: object): object =>
      Object.defineProperty(rest, name, {
        enumerable: true,
        get: () => {
          calls[name] = (calls[name] ?? 0) + 1
          return calls[name]
        },
      })
    class Instance {
      a = 1
    }
    const dictionary = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, i]))
    const value = [
      counting('one', { nested: counting('two', {}) }),
      counting('three', new Instance()),
      counting('four', dictionary),
      counting('five', { last: [/x/, counting('six', {})] }),
    ]
    const copy = sent(value)
    expect(calls).toEqual({ one: 1, two: 1, three: 1, four: 1, five: 1, six: 1 })
    expect(copy).toEqual([
      { nested: { two: 1 }, one: 1 },
      { a: 1, three: 1 },
      { ...dictionary, four: 1 },
      { last: [/x/, { six: 1 }], five: 1 },
    ])
  })
})

test('a body is read without regard to those before it', () => {
  const value = [{ id: 1, name: 'a' }, { id: 2, name: 'b' }, { id: 3 }]
  const first = wire(value)
  // More shapes, and more keys, than either side keeps.
  for (let i = 0; i < 10_000; i++) sent({ [`key ${i}`]: i, more: { [`inner ${i % 700}`]: 1 } })
  expect(decode(first, 20)).toEqual(value)
  expect(sent(value)).toEqual(value)
})

test('a getter that encodes a value does not disturb the encoding under way', () => {
  const row = (n: number): object => ({
    n,
    get inner(): unknown {
      return sent([{ n, inner: { n } }, { n }])
    },
  })
  same([row(1), { n: 1 }, row(2), { n: 2, inner: 3 }, row(3)])
})

test('a getter that changes its own object', () => {
  const value = {
    get a(): number {
      delete (this as { b?: number }).b
      return 1
    },
    b: 2,
    c: 3,
  }
  expect(sent([value])).toEqual([{ a: 1, c: 3 }])
})

describe('bytes that no writer made', () => {
  const refused = (hex: string): void => expect(() => decode(Buffer.from(hex, 'hex'), 0), hex).toThrow(/cannot be decoded|unknown format/)
  test('are refused', () => {
    const bytes: Record<string, string> = {
      'nothing at all': '20',
      'something behind the value': '20e1e1',
      'a shape that was not defined': '20c0',
      'a later shape that was not defined': '20eb0000',
      'a key twice': '20ea04000281618161e1e1',
      'a key that is no text': '20ea01000101e1',
      'keys beyond the definition': '20ea0100018161e1',
      'a definition with something behind its keys': '20ea030001816100e1',
      'an object without its value': '20ea0200018161',
      'a number of an object where there are none': '20d1ee00000000',
      'a number of no object': '24d1ee01000000',
      'an unknown word': '20ff',
      'a magnitude that is no number': '20f1008178',
      'a text beyond the end': '20bf61',
      'a format of two kinds': '28e1',
    }
    for (const hex of Object.values(bytes)) refused(hex)
  })

  test('too deep nesting is refused', () => {
    refused(`20${'d1'.repeat(100_000)}`)
    refused(`20${'f001000000'.repeat(100_000)}`)
    refused(`20ea0200018161${'c0'.repeat(100_000)}`)
  })

  test('any of them', () => {
    const opcode = fc.oneof(fc.constantFrom(0x81, 0x61, 0xd2, 0xc0, 0xea, 0xec, 0xee, 0xef, 0xf0, 0xf1, 0, 1, 2), fc.integer({ min: 0, max: 255 }))
    fc.assert(
      fc.property(fc.constantFrom(PLAIN, PLAIN | FLAG_SAME), fc.array(opcode, { maxLength: 40 }), (format, opcodes) => {
        try {
          decode(Buffer.from([format, ...opcodes]), 0)
        } catch (error) {
          expect((error as { code?: string }).code).toBe('ERR_PREFORK_SERIALIZATION')
        }
      }),
      { numRuns: runs(6_000, 2_000) },
    )
  })
})
