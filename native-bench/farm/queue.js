// A queue of one measurement, filled before it is consumed. The client and the build are loaded when they are wanted: the runner does without.
import { randomBytes } from 'node:crypto'

export const BROKER_URL = process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672/'

/** Why there is no broker; undefined when there is one. */
export const brokerProblem = async () => {
  try {
    const { connect } = await import('amqplib')
    const connection = await connect(BROKER_URL, { timeout: 3_000 })
    await connection.close()
    return undefined
  } catch (error) {
    return /** @type {Error} */ (error).message || String(error)
  }
}

/** A queue with so many jobs that do nothing. @param {number} jobs @param {'quorum' | 'classic'} queueType */
export const fullQueue = async (jobs, queueType) => {
  const { connect } = await import('amqplib')
  const { createPublisher } = await import('../../dist/amqp/index.js')
  const queue = `prefork.bench.${randomBytes(6).toString('hex')}`
  const publisher = await createPublisher({ url: BROKER_URL, queue, queueType })
  await publisher.publishMany(
    'noop',
    (function* () {
      for (let n = 0; n < jobs; n++) yield []
    })(),
  )
  await publisher.close()
  const remove = async () => {
    const connection = await connect(BROKER_URL)
    const channel = await connection.createChannel()
    await channel.deleteQueue(queue)
    await channel.deleteQueue(`${queue}.dlq`)
    for (const each of ['control', 'events']) await channel.deleteExchange(`${queue}.${each}`)
    await connection.close()
  }
  return { queue, remove }
}
