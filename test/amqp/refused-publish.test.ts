import { afterAll, beforeAll, expect, it } from 'vitest'
import { ReconnectingConnection } from '../../src/amqp/connection/reconnecting-connection.js'
import { BrokerError } from '../../src/amqp/errors.js'
import { ConfirmingPublisher } from '../../src/amqp/publishing/confirming-publisher.js'
import { admin, corner, RABBITMQ_URL, withRabbit } from './rabbit.js'

withRabbit('a publication that RabbitMQ refuses with ACCESS_REFUSED', () => {
  // Nobody may publish to an internal exchange, whatever the permissions.
  const { eventExchange: exchange } = corner()
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
  const said = expect.stringMatching(/^RabbitMQ refused the message.*403 \(ACCESS-REFUSED\).*internal/)

  it('is told by its name, and that it is nowhere', async () => {
    await expect(publish('alone')).rejects.toMatchObject({ name: 'PublishError', stored: 'no', message: said })
  })

  it('among others: whose it was cannot be told', async () => {
    for (const result of await Promise.allSettled([publish('one'), publish('other')]))
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'PublishError', stored: 'unknown', message: said } })
  })
})
