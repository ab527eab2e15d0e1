// Where the jobs come from, and how they get there.

import { BareClient } from '../faktory/client.js'
import { BROKER_URL } from '../farm/queue.js'

/** @import { Broker, JobPublisher, Kind, Place } from './types.js' */

const LEVELS = 4
/** Jobs of one call. */
const BULK = 10_000

/** @param {Place} place */
const removeFromRabbit = async ({ name }) => {
  const { connect } = await import('amqplib')
  const connection = await connect(BROKER_URL)
  const channel = await connection.createChannel()
  const levels = Array.from({ length: LEVELS - 1 }, (_, index) => `${name}.p${index + 1}`)
  for (const queue of [name, ...levels, ...fourQueues(name)]) for (const each of [queue, `${queue}.dlq`]) await channel.deleteQueue(each)
  for (const exchange of ['control', 'events']) await channel.deleteExchange(`${name}.${exchange}`)
  await connection.close()
}

/** @param {string} name */
const fourQueues = (name) => ['a', 'b', 'c', 'd'].map((each) => `${name}.${each}`)

/** @param {string} title @param {Record<string, unknown>} shape of the queue @param {(name: string) => { queue?: string, queues?: string[] }} [queues] of the node @returns {Broker} */
const rabbit = (title, shape, queues = (name) => ({ queue: name })) => ({
  title,
  kind: 'amqp',
  node: ({ name }) => ({ url: BROKER_URL, ...shape, ...queues(name), controlExchange: `${name}.control`, eventExchange: `${name}.events` }),
  publisher: ({ name }) => ({ url: BROKER_URL, ...shape, queue: queues(name).queues?.[2] ?? name }),
  remove: removeFromRabbit,
})

/** @param {Place} place */
const inFile = ({ name, folder }) => ({ store: `sqlite:${folder}/jobs.db`, queue: name })
/** @param {Place} place */
const atFaktory = ({ name, faktoryUrl }) => ({ url: faktoryUrl, queue: name })

/** @type {Record<string, Broker>} */
export const BROKERS = {
  quorum: rabbit('RabbitMQ, quorum queue', { queueType: 'quorum' }),
  classic: rabbit('RabbitMQ, classic queue', { queueType: 'classic' }),
  queues: rabbit('RabbitMQ, four queues, jobs in one', { queueType: 'quorum' }, (name) => ({ queues: fourQueues(name) })),
  levels: rabbit('RabbitMQ, four levels of priority, jobs in one', { queueType: 'quorum', priorityLevels: LEVELS }),
  file: { title: 'queue in a file', kind: 'queue', node: inFile, publisher: inFile, remove: async () => {} },
  faktory: {
    title: 'Faktory',
    kind: 'faktory',
    node: atFaktory,
    publisher: atFaktory,
    remove: async ({ name, faktoryUrl }) => {
      const client = await BareClient.connect(faktoryUrl)
      await client.ask(`QUEUE REMOVE ${name}`)
      client.close()
    },
  },
}

/** Of a job that is not tried again. */
const ONCE = /** @type {Record<Kind, object>} */ ({ amqp: { maxAttempts: 1 }, queue: { maxAttempts: 1 }, faktory: { retry: 0 } })

/** The publisher of the package at `dist`. @param {string} dist @param {Broker} broker @param {Place} place @returns {Promise<JobPublisher>} */
export const openPublisher = async (dist, { kind, publisher: optionsOf }, place) => {
  const { createQueue, createPublisher } = await import(`${dist}/${kind}/index.js`)
  if (kind !== 'queue') {
    const publisher = await createPublisher(optionsOf(place))
    return {
      publish: (task, jobs, { once = false } = {}) => publisher.publishMany(task, jobs, once ? ONCE[kind] : {}),
      close: () => publisher.close(),
    }
  }
  const queue = await createQueue(optionsOf(place))
  return {
    publish: async (task, jobs, { once = false } = {}) => {
      const options = once ? ONCE[kind] : {}
      for (let from = 0; from < jobs.length; from += BULK) await queue.addBulk(jobs.slice(from, from + BULK).map((args) => ({ task, args, options })))
    },
    close: () => queue.close(),
  }
}

/** Publishes these jobs and no others. @param {string} dist @param {Broker} broker @param {Place} place @param {string} task @param {unknown[][]} jobs */
export const publishAll = async (dist, broker, place, task, jobs) => {
  const publisher = await openPublisher(dist, broker, place)
  await publisher.publish(task, jobs)
  await publisher.close()
}
