import { expect, test } from 'vitest'
import { overText, sizeText } from '../../src/util/size-text.js'

const MB = 1024 * 1024

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_536, '1.5 KB'],
  [500_000, '500 KB'],
  [600 * MB, '600 MB'],
  [1.5 * 1024 * MB, '1.5 GB'],
  [2_000_000_000, '2 GB'],
  [1_023.9 * MB, '1,024 MB'],
])('%d is %s', (bytes, text) => expect(sizeText(bytes)).toBe(text))

test('what is over a limit has the units of the limit, or both have bytes', () => {
  expect(overText(300 * MB, 'max', 256 * MB)).toBe('300 MB, more than max (256 MB)')
  expect(overText(200_045, 'max', 100_000)).toBe('200 KB, more than max (100 KB)')
  expect(overText(256 * MB + 1, 'max', 256 * MB)).toBe('268,435,457 bytes, more than max (268,435,456 bytes)')
})
