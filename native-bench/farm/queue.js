// A filled queue for one measurement. The client and the build are loaded on demand: the runner does not need them.
import { randomBytes } from 'node:crypto'

export const BROKER_URL = process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672/'

/** The reason why the broker is not reachable; undefined if it is. */
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

/** Arguments that differ from job to job, as those of real jobs do. @param {number} n @returns {[object]} */
export const argumentsOf = (n) => [{ user: n, email: `user-${n}@example.com`, at: Date.now() + n }]

/** Creates a queue with so many no-ops, whose bodies differ. @param {number} jobs @param {string} queueType */
export const fullQueue = async (jobs, queueType) => {
  const { connect } = await import('amqplib')
  const { createPublisher } = await import('../../dist/amqp/index.js')
  const queue = `prefork.bench.${randomBytes(6).toString('hex')}`
  const publisher = await createPublisher({ url: BROKER_URL, queue, queueType: /** @type {'quorum' | 'classic'} */ (queueType) })
  await publisher.publishMany(
    'noop',
    (function* () {
      for (let n = 0; n < jobs; n++) yield argumentsOf(n)
    })(),
  )
  await publisher.close()
  const connection = await connect(BROKER_URL)
  const channel = await connection.createChannel()
  const ready = async () => (await channel.checkQueue(queue)).messageCount
  const remove = async () => {
    await channel.deleteQueue(queue)
    await channel.deleteQueue(`${queue}.dlq`)
    for (const each of ['control', 'events']) await channel.deleteExchange(`${queue}.${each}`)
    await connection.close()
  }
  return { queue, ready, remove }
}
