import { EventEmitter } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import type { ReconnectingConnection } from '../../../src/amqp/connection/reconnecting-connection.js'
import { BoundQueue } from '../../../src/amqp/control/bound-queue.js'
import { until } from '../../fixtures/until.js'

/** A channel of a user who may not read the event exchange: RabbitMQ refuses the binding and closes the channel. */
const restrictedChannel = (bound: string[]) => {
  const channel = Object.assign(new EventEmitter(), {
    assertExchange: async () => {},
    assertQueue: async () => ({ queue: 'q' }),
    bindQueue: async (_: string, exchange: string, key: string) => {
      bound.push(`${exchange} ${key}`)
      if (exchange !== 'events') return
      channel.emit('close')
      throw Object.assign(new Error('ACCESS_REFUSED'), { code: 403 })
    },
    consume: async () => ({ consumerTag: 'c' }),
    close: async () => {},
  })
  return channel
}

it('a queue that may not be bound to the event exchange still gets commands', async () => {
  const bound: string[] = []
  const current = { createChannel: async () => restrictedChannel(bound) }
  const connection = Object.assign(new EventEmitter(), { current }) as unknown as ReconnectingConnection
  const queue = new BoundQueue(connection, { controlExchange: 'control', eventExchange: 'events', to: 'control', key: '', receive: () => {} })
  onTestFinished(() => queue.close())
  await until('it is consumed', () => queue.name === 'q')
  await queue.bindToEvents('nodes')
  expect(queue.name).toBeUndefined()
  await until('it is consumed again', () => queue.name === 'q')
  expect(bound).toEqual(['control ', 'control ', 'events nodes', 'control '])
})
