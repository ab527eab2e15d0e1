import { describe, expect, test } from 'vitest'
import { closeTimeout, refuse } from '../../src/util/checks.js'
import { refusal } from '../pool/option-help.js'

describe('the timeout of close', () => {
  test('is absent or milliseconds', () => {
    expect([
      closeTimeout(undefined),
      closeTimeout({}),
      closeTimeout({ timeout: undefined }),
      closeTimeout({ timeout: 50 }),
      closeTimeout({ timeout: 0 }),
    ]).toEqual([undefined, undefined, undefined, 50, 0])
  })

  test.each([
    [{ timeout: -1 }, "Option 'timeout' must be a number of milliseconds"],
    [{ timeout: '5s' }, "it was given '5s'"],
    [{ timout: 5 }, "Unknown option 'timout' of pool.close; did you mean 'timeout'?"],
    [5_000, "Option 'options' must be an object; it was given 5000."],
    [null, "Option 'options' must be an object"],
  ])('%o is refused', (given, message) => {
    expect(refusal(() => closeTimeout(given))).toContain(message)
  })
})

test.each([
  ['text', "'text'"],
  [() => {}, 'a function'],
  [[1], 'an array'],
  [[], 'an empty array'],
  [{}, 'an object'],
  [null, 'null'],
  [undefined, 'undefined'],
  [5n, '5n'],
  [Symbol('s'), 'Symbol(s)'],
  [Number.NaN, 'NaN'],
])('a refusal shows what was given: %s', (given, shown) => {
  expect(refuse('x', 'something', given).message).toBe(`Option 'x' must be something; it was given ${shown}.`)
})
