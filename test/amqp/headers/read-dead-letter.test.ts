import { expect, test } from 'vitest'
import { readDeadLetter } from '../../../src/amqp/headers/message-headers.js'

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
