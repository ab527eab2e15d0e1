import { expect, it } from 'vitest'
import type { AmqpMessage } from '../../../src/amqp/connection/client.js'
import { deadLettered, republished, retriedDeadLetter } from '../../../src/amqp/headers/message-headers.js'
import { NO_ERROR } from '../../fixtures/memory-broker.js'
import { first } from '../rabbit.js'

const message = { content: Buffer.alloc(0), fields: {}, properties: { messageId: 'daily', headers: { key: 'its key' } } } as unknown as AmqpMessage

it('a message keeps its key when it is tried again and as a dead letter; a retried dead letter is a new job', () => {
  expect(republished(message, { delay: 0, counts: { ...first, attempt: 2 }, history: [] }, 0).headers.key).toBe('its key')
  const dead = deadLettered(message, 'q', 'n', { kind: 'dead-letter', reason: 'failed', error: NO_ERROR, counts: first, history: [] })
  expect(dead.headers.key).toBe('its key')
  const { key } = retriedDeadLetter(message).headers
  expect([typeof key, key === 'its key']).toEqual(['string', false])
})
