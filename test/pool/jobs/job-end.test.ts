import { expect, test } from 'vitest'
import { readGrace } from '../../../src/pool/jobs/job-end.js'
import { refusal } from '../option-help.js'

test('the grace of a cancellation is a time, 0 or left out', () => {
  expect([undefined, {}, { grace: undefined }, { grace: 0 }, { grace: 1.5 }, { grace: 2 ** 31 - 1 }].map(readGrace)).toEqual([
    undefined,
    undefined,
    undefined,
    0,
    2,
    2 ** 31 - 1,
  ])
})

test.each([
  [{ grce: 1 }, "Unknown option 'grce' of job.cancel; did you mean 'grace'? It has: grace."],
  [{ grace: -1 }, "Option 'grace' must be a number of milliseconds above 0 and at most 2147483647, or 0; it was given -1."],
  [{ grace: 2 ** 31 }, "Option 'grace' must be"],
  [{ grace: Number.NaN }, "Option 'grace' must be"],
  [{ grace: Number.POSITIVE_INFINITY }, "Option 'grace' must be"],
  [{ grace: '5s' }, "Option 'grace' must be"],
  [500, "Option 'options' must be an object; it was given 500."],
  [null, "Option 'options' must be an object; it was given null."],
])('%o is refused', (options, message) => {
  expect(refusal(() => readGrace(options))).toContain(message)
})
