import { expect, test } from 'vitest'
import { withoutPassword } from '../../src/util/redact.js'

test('withoutPassword hides the password of a URL, and nothing else', () => {
  expect(withoutPassword('amqp://user:secret@host:5672/vhost?heartbeat=5')).toBe('amqp://user:***@host:5672/vhost?heartbeat=5')
  expect(withoutPassword('amqps://:p%40ss@host/')).toBe('amqps://:***@host/')
  expect(withoutPassword('amqp://user@host/vhost')).toBe('amqp://user@host/vhost')
})

test('withoutPassword shows nothing of a text that is no URL with a host', () => {
  for (const text of ['', 'secret', 'user:secret@host', '//user:secret@host', 'amqp://user:secret@host:port'])
    expect(withoutPassword(text)).toBe('the URL given')
})
