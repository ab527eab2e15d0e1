import { afterAll, beforeAll, expect, it } from 'vitest'
import { ReconnectingConnection } from '../../../src/amqp/connection/reconnecting-connection.js'
import { BrokerError } from '../../../src/amqp/errors.js'
import { ConfirmingPublisher } from '../../../src/amqp/publishing/confirming-publisher.js'
import { admin, isolatedTopology, RABBITMQ_URL, withRabbit } from '../rabbit.js'

withRabbit('a publication that RabbitMQ refuses with ACCESS_REFUSED', () => {
  // RabbitMQ refuses publications to an internal exchange, with any permissions.
  const { eventExchange: exchange } = isolatedTopology()
  const connection = new ReconnectingConnection({ url: RABBITMQ_URL, tls: undefined }, 'test of refusals')
  let publisher: ConfirmingPublisher
  beforeAll(async () => {
    const { onChannel, close } = await admin()
    await onChannel((channel) => channel.assertExchange(exchange, 'direct', { internal: true }))
    await close()
    await connection.start()
    publisher = new ConfirmingPublisher(connection)
  })
  afterAll(async () => {
    await publisher.close(1_000)
    await connection.close(new BrokerError('over'))
  })
  const publish = (body: string): Promise<void> =>
    publisher.publish({ exchange, key: 'k', body: Buffer.from(body), options: {}, resend: true, timeout: 60_000 })
  const refused = expect.stringMatching(/^RabbitMQ refused the message.*403 \(ACCESS-REFUSED\).*internal/)

  it('alone: is rejected as not stored', async () => {
    await expect(publish('alone')).rejects.toMatchObject({ name: 'PublishError', stored: 'no', message: refused })
  })

  it('among others: all are rejected as possibly stored', async () => {
    for (const result of await Promise.allSettled([publish('one'), publish('other')]))
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'PublishError', stored: 'unknown', message: refused } })
  })
})
