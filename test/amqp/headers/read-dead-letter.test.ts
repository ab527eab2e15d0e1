import { expect, test } from 'vitest'
import { readDeadLetter, readHistory } from '../../../src/amqp/headers/message-headers.js'

test.each([
  ['expired', { name: 'ExpiredError', code: 'ERR_PREFORK_EXPIRED', message: 'It expired before it began.' }],
  ['delivery_limit', { name: 'RedeliveredError', code: 'ERR_PREFORK_REDELIVERED', message: 'It was delivered too often without an end.' }],
  ['maxlen', undefined],
])('a dead letter of the broker, by its reason: %s', (reason, error) => {
  expect(readDeadLetter({ 'x-death': [{ reason, queue: 'q' }] }).error).toEqual(error && { ...error, stack: undefined })
})

test.each([8.64e15 + 1, -1, 'soon'])('an invalid time of expiry is ignored: %s', (expires_at) => {
  expect(readDeadLetter({ 'x-death': [{ reason: 'expired' }], expires_at }).error?.message).toBe('It expired before it began.')
})

test.each([8.64e15 + 1, 1e300, -1, 'soon'])('a time that no Date can have is none: %s', (at) => {
  expect(readDeadLetter({ dead_reason: 'failed', dead_at: at }).at).toBeUndefined()
  expect(readDeadLetter({ 'x-death': [{ reason: 'expired', time: { value: at } }] }).at).toBeUndefined()
  expect(readHistory([{ attempt: 1, at, node: 'n', outcome: 'failed', error: 'e' }])).toEqual([{ attempt: 1, at: 0, node: 'n', outcome: 'failed', error: 'e' }])
  expect(readDeadLetter({ dead_reason: 'failed', dead_at: 8.64e15 }).at).toBe(8.64e15)
})
