import fc from 'fast-check'
import { expect, it } from 'vitest'
import { exactJson } from '../../../src/faktory/publishing/job-json.js'
import { SerializationError } from '../../../src/wire/errors.js'

const refusal = (value: unknown): string => {
  try {
    exactJson('args', value)
  } catch (error) {
    expect(error).toBeInstanceOf(SerializationError)
    return (error as Error).message
  }
  throw new Error('it was not refused')
}

const circular: unknown[] = []
circular.push({ circular })

class Point {
  x = 1
}

it.each([
  ['undefined', [1, undefined], 'args[1] is undefined, which JSON does not have'],
  ['an undefined property', [{ a: { b: undefined } }], 'args[0].a.b is undefined'],
  ['NaN', [Number.NaN], 'args[0] is NaN, which JSON writes as null'],
  ['an infinite number', [[-Infinity]], 'args[0][0] is -Infinity'],
  ['-0', [{ 'a b': -0 }], 'args[0]["a b"] is -0, which JSON writes as 0'],
  ['a number beyond 2^53', [2 ** 53], 'args[0] is the number 9007199254740992, which is beyond 2^53 - 1'],
  ['a negative number beyond 2^53', [{ id: -1e16 }], 'args[0].id is the number -10000000000000000'],
  ['a BigInt', [1n], 'args[0] is a BigInt, which JSON does not have: send it as a text'],
  ['a Date', [new Date(0)], 'args[0] is a Date, which JSON would alter: send its text (toISOString()) or its time as a number'],
  ['a Map', [new Map()], 'args[0] is a Map, which JSON would alter: send an array of its entries'],
  ['a Set', [new Set()], 'args[0] is a Set'],
  ['a Buffer', [Buffer.from('x')], "args[0] is a Buffer, which JSON would alter: send its text in base64 (toString('base64'))"],
  ['an Error', [new RangeError('x')], 'args[0] is a RangeError, which JSON would alter: send its name and its message'],
  ['a regular expression', [/x/], 'args[0] is a RegExp'],
  ['an instance of a class', [new Point()], 'args[0] is a Point, which JSON would alter: send a plain object'],
  ['a boxed primitive', [Object('x')], 'args[0] is a String'],
  ['an object with toJSON', [{ toJSON: () => 1 }], 'args[0] is an object with a toJSON()'],
  ['a function', [() => 1], 'args[0] is a function'],
  ['a symbol', [Symbol('x')], 'args[0] is a symbol'],
  ['a property under a symbol', [{ [Symbol('x')]: 1 }], 'args[0] is an object with the property Symbol(x)'],
  // biome-ignore lint/suspicious/noSparseArray: it is what is refused.
  ['a hole', [[1, , 3]], 'args[0][1] is a hole of a sparse array'],
  ['a property of an array', [Object.assign([1], { more: 2 })], 'args[0].more is a property of an array'],
  ['a lone surrogate', ['a\uD83D'], 'args[0] is a text with a lone surrogate'],
  ['a lone surrogate in a name', [{ '\uDE00': 1 }], 'is a property whose name has a lone surrogate'],
  ['a circle', circular, 'is a part of itself'],
])('refuses %s with its place', (_, value, message) => {
  expect(refusal(value)).toContain(message)
})

it('refuses what is nested too deep for a parser', () => {
  let deep: unknown = 1
  for (let i = 0; i < 300; i++) deep = [deep]
  expect(refusal(deep)).toContain('more than 256 arrays and objects within one another')
})

it('writes the same object twice where it stands twice', () => {
  const shared = { a: 1 }
  expect(exactJson('args', [shared, shared])).toBe('[{"a":1},{"a":1}]')
})

it('writes what JSON.stringify writes, where that reads back as the same', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const back: unknown = JSON.parse(JSON.stringify(value))
      let text: string
      try {
        text = exactJson('value', value)
      } catch {
        return
      }
      expect(text).toBe(JSON.stringify(value))
      expect(back).toStrictEqual(value)
    }),
  )
})
