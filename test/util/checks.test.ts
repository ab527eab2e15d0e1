import { describe, expect, test } from 'vitest'
import { checkLimits, closeTimeout, objectWith, refusal as optionRefusal, plainObject } from '../../src/util/checks.js'
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
  [new Date(Number.NaN), 'an invalid Date'],
  [new Date(0), 'a Date'],
  [new Map(), 'a Map'],
  [new AbortController().signal, 'an AbortSignal'],
  ['x'.repeat(300), `'${'x'.repeat(80)}…'`],
])('a refusal shows what was given: %s', (given, shown) => {
  expect(optionRefusal('x', 'something', given).message).toBe(`Option 'x' must be something; it was given ${shown}.`)
})

test('a refusal has the option and the reason as fields, and is a TypeError', () => {
  const refused = optionRefusal('tls.ca', 'a text', 5)
  expect(refused).toBeInstanceOf(TypeError)
  expect(refused).toMatchObject({ name: 'TypeError', option: 'tls.ca', reason: 'must be a text; it was given 5' })
  expect(refused.message).toBe("Option 'tls.ca' must be a text; it was given 5.")
  expect(Object.keys(refused)).toEqual([])
})

test('options are refused where they are another kind of object; for a signal the message has the option, where there is one', () => {
  const { signal } = new AbortController()
  expect(refusal(() => closeTimeout(new Map()))).toBe("Option 'options' must be an object; it was given a Map.")
  expect(refusal(() => plainObject('options', signal))).toBe("Option 'options' must be an object; it was given an AbortSignal.")
  expect(refusal(() => objectWith('options', signal, ['timeout', 'signal']))).toBe(
    "Option 'options' must be an object; it was given an AbortSignal: pass { signal }.",
  )
})

test('an option of what has none is refused without a list', () => {
  expect(refusal(() => objectWith('ping', { x: 1, y: 2 }, []))).toBe("Unknown option 'x' of ping. Unknown, too: 'y'. It has no options.")
})

test('a hard time limit below the soft one is refused; 0 and undefined are no limit', () => {
  for (const pair of [{}, { softTimeLimit: 0, timeLimit: 5 }, { softTimeLimit: 5, timeLimit: 0 }, { softTimeLimit: 5 }, { softTimeLimit: 5, timeLimit: 5 }])
    expect(() => checkLimits(pair)).not.toThrow()
  expect(refusal(() => checkLimits({ softTimeLimit: 6, timeLimit: 5 }))).toContain("Option 'timeLimit' must be at least the softTimeLimit of 6 ms")
})
