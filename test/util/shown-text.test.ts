import { expect, test } from 'vitest'
import { escapeControl, escapeJson, escapeLine, overText, sizeText } from '../../src/util/shown-text.js'

test('escapeControl shows each control character by its code', () => {
  expect(escapeControl('\x1b[2J\x00\x7f\x9b')).toBe('\\x1b[2J\\x00\\x7f\\x9b')
  expect(escapeControl('a\rb\x0bc\x08')).toBe('a\\x0db\\x0bc\\x08')
})

test('escapeControl leaves tabs, newlines and all other characters as they are', () => {
  const text = 'one\ttwo\nthree äöü € 漢字 🎉 \u00a0'
  expect(escapeControl(text)).toBe(text)
})

test('escapeControl shows what reorders or breaks a line', () => {
  expect(escapeControl('invoice\u202efdp.exe\u2066\u2069\u2028')).toBe('invoice\\u202efdp.exe\\u2066\\u2069\\u2028')
})

test('escapeLine shows newlines as well', () => {
  expect(escapeLine('add\nprefork: all is well\x1b')).toBe('add\\nprefork: all is well\\x1b')
})

test('escapeJson keeps the value', () => {
  const value = { name: 'a\u202eb\x9b\x7f\u2028\x1b\n"' }
  const json = escapeJson(JSON.stringify(value))
  expect(JSON.parse(json)).toEqual(value)
  expect(json).toBe('{"name":"a\\u202eb\\u009b\\u007f\\u2028\\u001b\\n\\""}')
  const indented = JSON.stringify([1], undefined, 2)
  expect(escapeJson(indented)).toBe(indented)
})

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
