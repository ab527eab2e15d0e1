import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { encode } from '../../../src/wire/codec/index.js'
import { sent, wire } from './help.js'
import { difference } from './same.js'

const circle: Record<string, unknown> = { a: 1 }
circle.self = circle
const shared = { x: 1 }
class Point {
  x = 1
  #secret = 2
  get y(): number {
    return this.#secret
  }
}
const withProperty = Object.assign([1, 2], { index: 7 })
const resizable = (length: number, maxByteLength: number): ArrayBuffer =>
  new (ArrayBuffer as unknown as new (length: number, options: object) => ArrayBuffer)(length, { maxByteLength })
const growing = resizable(16, 64)

const odd: Record<string, unknown> = {
  undefined,
  null: null,
  'minus zero': -0,
  'minus zero inside': [{ a: -0 }],
  NaN: [Number.NaN, Number.POSITIVE_INFINITY],
  'a lone surrogate': ['\ud800', { '\udfff': 1 }],
  'a byte order mark before a long text': [`\ufeff${'x'.repeat(100)}`, { [`\ufeff${'y'.repeat(100)}`]: 1 }],
  // biome-ignore lint/suspicious/noSparseArray: holes are the point
  holes: [, 1, , undefined, ,],
  // biome-ignore lint/suspicious/noSparseArray: holes are the point
  'holes made up for by properties': Object.assign([, 1], { x: 1 }),
  'a sparse array': Object.assign([], { 1000000: 1 }),
  'an array with a property': withProperty,
  'a match of a regular expression': /b(?<c>c)/.exec('abc'),
  'boxed primitives': [Object(1), Object(-0), Object('a\ud800'), Object(true), Object(5n)],
  'an object with toJSON as data': { toJSON: 1, a: 1 },
  'a key constructor': { constructor: 1, hasOwnProperty: 2, length: 3 },
  '__proto__ as data': JSON.parse('{"a":{"__proto__":{"b":1}}}') as unknown,
  '__keys__ as data': Array.from({ length: 20 }, (_, i) => ({ a: i, __keys__: ['a'], b: 1 })),
  'numbers as keys': { 2: 'b', 1: 'a', c: 'c', '-1': 'd', 4294967296: 'e' },
  'an instance': new Point(),
  'a null prototype': Object.assign(Object.create(null) as object, { a: 1 }),
  getter: {
    get a(): number {
      return 1
    },
  },
  dates: [new Date(0), new Date(-1), new Date(8.64e15), new Date(Number.NaN), new Date(1_700_000_000_123)],
  'regular expressions': Object.assign(/a\/b/giu, { lastIndex: 5 }),
  map: new Map<unknown, unknown>([
    [{ a: 1 }, -0],
    ['x', new Map([[1, 2]])],
  ]),
  set: new Set([1, 'a', { a: 1 }]),
  bigints: [0n, -1n, 2n ** 63n, 2n ** 64n, -(2n ** 63n), -(2n ** 63n) - 1n, 3n ** 500n, -(3n ** 500n)],
  'a circle': circle,
  'a circle through a map': (() => {
    const map = new Map<string, unknown>()
    map.set('me', map)
    return map
  })(),
  'a shared reference': [shared, shared, { shared }],
  'another realm': [runInNewContext('({ a: [1, new Map([[1, 2]])] })') as unknown],
  'a view with an offset': new Int16Array(new ArrayBuffer(16), 4, 3),
  'two views on one buffer': (() => {
    const buffer = new ArrayBuffer(32)
    return { a: new Uint8Array(buffer, 3, 5), b: new DataView(buffer, 8), buffer, c: [new Float64Array(buffer)] }
  })(),
  'two views on one large buffer': (() => {
    const buffer = new ArrayBuffer(20_000)
    return [new Uint8Array(buffer, 3, 5), buffer]
  })(),
  'an empty buffer': [new ArrayBuffer(0), new Uint8Array(0)],
  'a resizable buffer': [
    growing,
    new Uint8Array(growing),
    new Uint8Array(growing, 4),
    new Uint8Array(growing, 0, 8),
    new DataView(growing, 2),
    new DataView(growing, 2, 2),
  ],
  'a resizable buffer at its limit': new Uint16Array(resizable(16, 16)),
  'Math and such': { Math, JSON },
  'many keys': Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`key ${i}`, i])),
  'a long text': 'é'.repeat(100_000),
}

describe('arrives as structuredClone would have copied it', () => {
  for (const [name, value] of Object.entries(odd)) test(name, () => expect(difference(sent(value), structuredClone(value))).toBeUndefined())

  test('views that follow the length of their buffer still do', () => {
    const [buffer, whole, tail, fixed] = sent(odd['a resizable buffer']) as [ArrayBuffer & { resize(n: number): void }, Uint8Array, Uint8Array, Uint8Array]
    buffer.resize(32)
    expect([whole.length, tail.length, fixed.length]).toEqual([32, 28, 8])
  })

  test('Float16Array, where there is one', () => {
    const Float16 = (globalThis as { Float16Array?: typeof Float32Array }).Float16Array
    if (Float16 === undefined) return
    const copy = sent(new Float16([1.5, 2]))
    expect(copy).toBeInstanceOf(Float16)
    expect([...copy]).toEqual([1.5, 2])
  })

  test('an instance of an unknown class arrives as an object', () => {
    for (const make of [() => new URL('http://a/b'), () => new Headers({ a: '1' }), () => new URLSearchParams('a=1')]) {
      let expected: unknown
      try {
        expected = structuredClone(make())
      } catch {
        expect(() => sent(make())).toThrow()
        continue
      }
      expect(sent(make())).toEqual(expected)
    }
  })
})

test('a getter is called once', () => {
  let calls = 0
  const value = {
    get a(): number {
      return ++calls
    },
  }
  expect(sent([value])).toEqual([{ a: 1 }])
  expect(calls).toBe(1)
})

test('properties that were added to Object.prototype are not sent', () => {
  Object.defineProperty(Object.prototype, 'added', { value: () => 1, enumerable: true, configurable: true, writable: true })
  try {
    expect(Object.keys(sent({ a: { b: 1 } }).a)).toEqual(['b'])
  } finally {
    delete (Object.prototype as { added?: unknown }).added
  }
})

describe('Buffers', () => {
  test('stay Buffers, of any length', () => {
    for (const length of [0, 1, 100, 8191, 8192, 100_000]) {
      const [copy] = sent([Buffer.alloc(length, 7)])
      expect(Buffer.isBuffer(copy)).toBe(true)
      expect(copy!.equals(Buffer.alloc(length, 7))).toBe(true)
    }
  })

  test('a small one is sent without the pool in which it lies', () => {
    Buffer.from('the secret of somebody else')
    const small = Buffer.from('mine')
    const bytes = wire([small, new Map([[1, Buffer.from('also mine')]])])
    expect(bytes.length).toBeLessThan(150)
    expect(bytes.includes('secret')).toBe(false)
    const [a] = sent([small])
    expect(a!.toString()).toBe('mine')
  })

  test('two that overlap still share their bytes', () => {
    const whole = Buffer.from('0123456789'.repeat(1000))
    for (const [a, b] of [sent([whole.subarray(2, 6), whole.subarray(4, 9)]), sent([whole.subarray(2, 9000), whole.subarray(4, 9500)])]) {
      a![2] = 0x58
      expect(b!.subarray(0, 2).toString()).toBe('X5')
    }
  })

  test('one on the memory of a typed array stays on it', () => {
    const array = new Uint8Array(20)
    const [a, b] = sent([array, Buffer.from(array.buffer, 4, 3)] as const)
    a[4] = 9
    expect(b[0]).toBe(9)
    expect(b.length).toBe(3)
  })

  test('a typed array owns exactly its memory', () => {
    for (const length of [3, 20_000]) {
      const [copy] = sent([new Uint8Array(length)])
      expect(copy!.buffer.byteLength).toBe(length)
    }
  })

  test('large ones follow the body, and are the memory of the caller unless copied', () => {
    const large = Buffer.alloc(50_000)
    expect(encode([large], 20).binaries[0]!.buffer).toBe(large.buffer)
    const { binaries, body } = encode([large], 20, { copyBinaries: true })
    large[0] = 1
    expect(binaries[0]![0]).toBe(0)
    expect(body.length).toBeLessThan(100)
  })
})

test('small bodies do not keep large slabs in memory', () => {
  encode('x'.repeat(5_000_000), 20)
  expect(encode([{ a: 1 }], 20).body.buffer.byteLength).toBeLessThanOrEqual(Buffer.poolSize + 1024)
  expect(encode('x'.repeat(100_000), 20).body.buffer.byteLength).toBeLessThan(101_000)
})
