import type { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ReconnectingConnection } from '../../../src/amqp/connection/reconnecting-connection.js'
import { BrokerError } from '../../../src/amqp/errors.js'
import { ConfirmingPublisher } from '../../../src/amqp/publishing/confirming-publisher.js'
import { newName, RABBITMQ_URL, withRabbit } from '../rabbit.js'

withRabbit('publications of one turn', () => {
  const connection = new ReconnectingConnection({ url: RABBITMQ_URL, tls: undefined }, 'test of writes')
  let publisher: ConfirmingPublisher
  // No queue has this name: the broker confirms the message and drops it.
  const publish = () => publisher.publish({ exchange: '', key: newName(), body: Buffer.from('x'), options: {}, resend: true, timeout: 60_000 })
  beforeAll(async () => {
    await connection.start()
    publisher = new ConfirmingPublisher(connection)
    // Opens the channel.
    await publish()
  })
  afterAll(async () => {
    await publisher.close(1_000)
    await connection.close(new BrokerError('over'))
  })

  it('are few writes to the socket', async () => {
    const stream = connection.current!.connection.stream as unknown as Required<Writable>
    const [one, many] = [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev')]
    await Promise.all(Array.from({ length: 30 }, publish))
    expect(one.mock.calls.length + many.mock.calls.length).toBeLessThanOrEqual(3)
    expect(stream.writableCorked).toBe(0)
  })
})
