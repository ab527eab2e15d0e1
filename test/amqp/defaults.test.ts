/** Nodes on RabbitMQ at their defaults. */
import { createPublisher, createWorker, type QueueType, type WorkerOptions } from 'prefork/amqp'
import { afterEach } from 'vitest'
import { type DefaultsNode, type DefaultsOptions, isolatesFaults, leavesJobsToOthers, spreadsItsJobs } from '../fixtures/node-defaults.js'
import { fixture } from '../fixtures/pools.js'
import { isolatedTopology, RABBITMQ_URL, withRabbit } from './rabbit.js'

withRabbit('a node at its defaults', () => {
  const { queue, queues, controlExchange, eventExchange, keep, cleanUp } = isolatedTopology()
  afterEach(cleanUp)

  const start =
    (queueType: QueueType, more: Partial<WorkerOptions> = {}, priority?: number) =>
    async (options: DefaultsOptions): Promise<DefaultsNode> => {
      const shape = { url: RABBITMQ_URL, queueType, priorityLevels: more.priorityLevels }
      const node = await createWorker({ ...shape, queue, controlExchange, eventExchange, tasks: fixture('farm-tasks.js'), ...more, ...options })
      keep({ close: () => node.shutdown({ grace: 0 }) })
      const publisher = keep(await createPublisher({ ...shape, queue }))
      return { node, add: (task, argsOfEach) => publisher.publishMany(task, argsOfEach, { priority }) }
    }

  for (const each of ['b', 'c', 'd']) queues.add(`${queue}.${each}`)
  spreadsItsJobs({
    'a quorum queue': start('quorum'),
    'a classic queue': start('classic'),
    'four queues, and jobs in one of them': start('quorum', { queue: undefined, queues: [...queues] }),
    'four levels of priority, and jobs in one of them': start('quorum', { priorityLevels: 4 }, 2),
  })

  isolatesFaults(start('quorum'))

  leavesJobsToOthers(async (options) => {
    const [first, second] = [await start('quorum')(options), await start('quorum')(options)]
    return { nodes: [first.node, second.node], add: first.add }
  })
})
