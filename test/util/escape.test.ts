import { expect, test } from 'vitest'
import { escapeControl } from '../../src/util/escape.js'

test('escapeControl shows each control character by its code', () => {
  expect(escapeControl('\x1b[2J\x00\x7f\x9b')).toBe('\\x1b[2J\\x00\\x7f\\x9b')
  expect(escapeControl('a\rb\x0bc\x08')).toBe('a\\x0db\\x0bc\\x08')
})

test('escapeControl leaves tabs, newlines and all other characters as they are', () => {
  const text = 'one\ttwo\nthree äöü € 漢字 🎉 \u00a0'
  expect(escapeControl(text)).toBe(text)
})
