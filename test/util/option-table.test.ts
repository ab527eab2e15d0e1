import { expect, expectTypeOf, test } from 'vitest'
import { choice, countFrom, milliseconds, nonEmptyString, OptionError } from '../../src/util/checks.js'
import { type OptionTable, option, readOptions } from '../../src/util/option-table.js'

interface Given {
  size?: number
  double?: number
  kind?: 'a' | 'b'
  name: string
  wait?: number
}

const TABLE = {
  size: option('count', countFrom(1), 4, 'the size'),
  double: option('count', countFrom(1), ({ size }: { size: number }) => 2 * size, 'twice the size'),
  kind: option('kind', choice('a', 'b'), 'a', 'the kind'),
  name: option(
    'text',
    nonEmptyString,
    () => {
      throw new OptionError('name', 'is missing')
    },
    'the name',
  ),
  wait: option('ms', milliseconds, undefined, 'the wait'),
} satisfies OptionTable<Given>

test('an absent option has its default, which may depend on those above it', () => {
  expect(readOptions(TABLE, 'it', { name: 'x' })).toEqual({ size: 4, double: 8, kind: 'a', name: 'x', wait: undefined })
  expect(readOptions(TABLE, 'it', { name: 'x', size: 5, kind: undefined })).toEqual({ size: 5, double: 10, kind: 'a', name: 'x', wait: undefined })
  expect(readOptions(TABLE, 'it', { name: 'x', double: 3, wait: 1.5 })).toMatchObject({ size: 4, double: 3, wait: 2 })
})

test('the values have the types of the checks and the defaults', () => {
  expectTypeOf(readOptions(TABLE, 'it', { name: 'x' })).toEqualTypeOf<{
    size: number
    double: number
    kind: 'a' | 'b'
    name: string
    wait: number | undefined
  }>()
})

test('a required option, a wrong value and an unknown name are refused', () => {
  expect(() => readOptions(TABLE, 'it', {})).toThrow("Option 'name' is missing.")
  expect(() => readOptions(TABLE, 'it', { name: 'x', size: 0 })).toThrow("Option 'size' must be a whole number of at least 1; it was given 0.")
  expect(() => readOptions(TABLE, 'it', { nam: 'x' })).toThrow("Unknown option 'nam' of it; did you mean 'name'? It has: size, double, kind, name, wait.")
})

test('of several wrong options each is named', () => {
  const table = {
    count: option('jobs', countFrom(1), 1, 'the first'),
    mode: option('mode', choice('a', 'b'), 'a', 'the second'),
    text: option('text', nonEmptyString, 'x', 'the third'),
  }
  const refused = (given: object): Error => {
    try {
      readOptions(table, 'a call', given)
    } catch (error) {
      return error as Error
    }
    throw new Error('nothing was refused')
  }
  expect(refused({ count: 0, mode: 'a', text: '' })).toMatchObject({
    name: 'TypeError',
    option: 'count',
    message: "Option 'count' must be a whole number of at least 1; it was given 0. Option 'text' must be a non-empty string; it was given ''.",
  })
  expect(refused({ cuont: 1, text: 'x', retries: 2 }).message).toBe(
    "Unknown option 'cuont' of a call; did you mean 'count'? Unknown, too: 'retries'. It has: count, mode, text.",
  )
})
