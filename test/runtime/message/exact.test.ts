/** Values that msgpackr alone would pack as another, or run code of. */
import { deepStrictEqual } from 'node:assert'
import { expect, test } from 'vitest'
import { pack } from '../../../src/runtime/message/msgpack/pack.js'
import { decodeReply, encodeReply } from '../../../src/runtime/message/reply.js'

const roundTrip = (value: unknown): unknown => (decodeReply(encodeReply({ ok: true, value })) as { value: unknown }).value

test('a getter is called once, and what it gave is what is packed', () => {
  let calls = 0
  const value = {
    get a() {
      calls++
      return calls === 1 ? 1 : () => {}
    },
  }
  expect(roundTrip({ value })).toEqual({ value: { a: 1 } })
  expect(calls).toBe(1)
})

test('a getter may encode another value meanwhile', () => {
  const value = {
    get a() {
      return encodeReply({ ok: true, value: ['x'.repeat(300_000)] }).length
    },
    b: 2,
  }
  expect(roundTrip(value)).toEqual({ a: 300_017, b: 2 })
})

test('a message keeps its bytes when the next is packed', () => {
  const first = encodeReply({ ok: true, value: 'first' })
  encodeReply({ ok: true, value: 'second' })
  expect(decodeReply(first)).toEqual({ ok: true, value: 'first' })
})

test('the time of a Date is what its getTime says', () => {
  class Clock extends Date {
    override getTime(): number {
      return 5
    }
  }
  expect(roundTrip(new Clock(1_001))).toEqual(new Date(5))
})

test('keys that only resemble __proto__ arrive beside it', () => {
  const value = JSON.parse('{"x__proto__":1,"__proto_":2,"__proto__":{"__proto__":3},"é__proto__":4}') as object
  deepStrictEqual(roundTrip(value), value)
  expect(Object.keys(roundTrip(value) as object)).toEqual(Object.keys(value))
})

test('toJSON is not called, and names that msgpackr looks for are keys like any other', () => {
  class Stamp extends Date {
    override toJSON(): string {
      return 'called'
    }
  }
  deepStrictEqual(roundTrip([new Stamp(5), { toJSON: 'x', constructor: { name: 'Map' }, hasOwnProperty: 1, size: 2, length: 3 }]), [
    new Date(5),
    { toJSON: 'x', constructor: { name: 'Map' }, hasOwnProperty: 1, size: 2, length: 3 },
  ])
  const bytes = Buffer.from('abc')
  Object.assign(bytes, { toJSON: () => 'called' })
  deepStrictEqual(roundTrip(bytes), Buffer.from('abc'))
})

test('plain objects of any prototype, proxies and arrays of a class arrive as plain data', () => {
  const bare = Object.assign(Object.create(null) as object, { a: -0, constructor: 1 })
  class List extends Array<number> {}
  const arrives: unknown[] = [{ a: -0, constructor: 1 }, { b: [1] }, [1, 2], Buffer.from([1])]
  deepStrictEqual(roundTrip([bare, new Proxy({ b: [1] }, {}), List.from([1, 2]), new Uint8Array([1])]), arrives)
})

test('a list and a map of more than 65,535 entries', () => {
  const list = Array.from({ length: 70_000 }, (_, i) => i)
  const map = Object.fromEntries(list.map((i) => [`key${i}`, i]))
  deepStrictEqual(roundTrip([list, map]), [list, map])
})

test('what can be read once only, or not at all, is refused at its path', () => {
  const refusal = (value: unknown): string => {
    try {
      encodeReply({ ok: true, value })
      return 'none'
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_PREFORK_SERIALIZATION' })
      return (error as Error).message
    }
  }
  const throwing = {
    get a() {
      throw new TypeError('no')
    },
  }
  expect(refusal([throwing])).toBe('result.value[0] cannot be read: no.')
  expect(refusal(Object.create(Date.prototype))).toContain('result.value cannot be read:')
  // biome-ignore lint/suspicious/noSparseArray: that is what is tried
  expect(refusal([1, , 2])).toContain('result.value[1] is undefined')
  expect(refusal(new ArrayBuffer(1))).toContain('result.value is an ArrayBuffer')
  expect(refusal(new Float32Array(1))).toContain('result.value is a Float32Array')
  expect(refusal({ '\ud800': 1 })).toContain('holds half of a surrogate pair')
  expect(refusal(2n ** 65_536n)).toContain('64 bits cannot hold')
})

test('a message is refused by its size before it is packed', () => {
  const text = 'x'.repeat(60_000_000)
  const before = process.memoryUsage().arrayBuffers
  expect(() => encodeReply({ ok: true, value: [text, { text }, text] })).toThrow('result.value[2] is larger than 134217728 bytes.')
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
})

test('the limit of the size counts numbers and heads too', () => {
  expect(pack([1.5, ''], '', 11)).toHaveLength(11)
  expect(() => pack([1.5, ''], '', 10)).toThrow('The message is larger than 10 bytes.')
  expect(() => pack([1.5, ''], 'result', 10)).toThrow('result is larger than 10 bytes.')
})
