import { expect, test } from 'vitest'
import { shownArguments } from '../../../src/runtime/report/shown-arguments.js'

test.each<[unknown[], string]>([
  [[], '[]'],
  [[1, -0, 2.5, true, null, undefined, 12n], '[1, 0, 2.5, true, null, undefined, 12n]'],
  [['a "b"\n\x1b[2J'], '["a \\"b\\"\\n\\u001b[2J"]'],
  [[{ a: [1, { b: 'c' }] }], '[{"a": [1, {"b": "c"}]}]'],
  [[new Date(0), new Date(Number.NaN), Buffer.alloc(7)], '["1970-01-01T00:00:00.000Z", an invalid date, <7 bytes>]'],
  [
    ['amqp://user:hush@host/v?a=b', 'see http://host:80/a and redis://:hush@host'],
    '["amqp://user:***@host/v?a=b", "see http://host:80/a and redis://:***@host"]',
  ],
  [
    [{ password: 'hush', apiKey: 'hush', tokens: 5, user: { access_token: 'hush' } }],
    '[{"password": "***", "apiKey": "***", "tokens": 5, "user": {"access_token": "***"}}]',
  ],
])('%#', (args, text) => expect(shownArguments({ args })).toBe(text))

test('kwargs come last, as the task receives them', () => {
  expect(shownArguments({ args: [1], kwargs: { wide: true } })).toBe('[1, {"wide": true}]')
})

test.each<[string, unknown[]]>([
  ['a long text', ['x'.repeat(1e7)]],
  ['many elements', [Array.from({ length: 1e6 }, (_, i) => i)]],
  ['many members', [Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => [`key-${i}`, 'x'.repeat(1_000)]))]],
  ['many arguments', Array.from({ length: 1e5 }, () => ({ a: 1 }))],
])('%s: cut to 2,000 characters', (_, args) => {
  const text = shownArguments({ args, kwargs: {} })
  expect(text.length).toBeLessThanOrEqual(2_000)
  expect(text).toContain('…')
})

test('deep nesting is cut', () => {
  let deep: unknown = 'core'
  for (let i = 0; i < 5_000; i++) deep = [deep]
  expect(shownArguments({ args: [deep] })).toBe('[[[[[[…]]]]]]')
})
