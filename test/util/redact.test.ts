import { expect, test } from 'vitest'
import { argumentsWithoutPasswords, hasPassword, withoutPassword } from '../../src/util/redact.js'

test('withoutPassword hides the password of a URL, and nothing else', () => {
  expect(withoutPassword('amqp://user:secret@host:5672/vhost?heartbeat=5')).toBe('amqp://user:***@host:5672/vhost?heartbeat=5')
  expect(withoutPassword('amqps://:p%40ss@host/')).toBe('amqps://:***@host/')
  expect(withoutPassword('amqp://user@host/vhost')).toBe('amqp://user@host/vhost')
})

test('withoutPassword shows nothing of a text that is no URL with a host', () => {
  for (const text of ['', 'secret', 'user:secret@host', '//user:secret@host', 'amqp://user:secret@host:port'])
    expect(withoutPassword(text)).toBe('the URL given')
})

test('hasPassword is true also for what cannot be read', () => {
  expect(['amqp://user:secret@host', 'amqp://:secret@host', 'user:secret@host', 'secret'].map(hasPassword)).toEqual([true, true, true, true])
  expect(['amqp://host', 'amqps://user@host/v'].map(hasPassword)).toEqual([false, false])
})

test('argumentsWithoutPasswords hides the passwords in URLs of a broker, wherever they stand', () => {
  const url = 'amqp://user:secret@host/v'
  for (const flags of [['--broker', url], [`--broker=${url}`], ['-b', url], [`-b${url}`]])
    expect(argumentsWithoutPasswords(['work', ...flags, '--http', '1'])).toBe(`work ${flags.join(' ').replace('secret', '***')} --http 1`)
  expect(argumentsWithoutPasswords(['work', '--broker', 'amqp://user@host/v'])).toBeUndefined()
  expect(argumentsWithoutPasswords(['top', '--broker', 'amqp://user:secret@host:port'])).toBe('top --broker the URL given')
})
