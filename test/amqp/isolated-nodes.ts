/** Nodes on queues of the test's own, as users start them. */
import { createPublisher, createWorker, type FarmNode, type Publisher, type WorkerOptions } from 'prefork/amqp'
import { afterEach } from 'vitest'
import { fixture } from '../fixtures/pools.js'
import { isolatedTopology, RABBITMQ_URL } from './rabbit.js'

export const isolatedNodes = () => {
  const topology = isolatedTopology()
  const { queue, controlExchange, eventExchange, keep, cleanUp } = topology
  const nodes: FarmNode[] = []
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.shutdown({ grace: 0 })))
    await cleanUp()
  })

  const start = async (options: Partial<WorkerOptions> = {}): Promise<FarmNode> => {
    const node = await createWorker({
      url: RABBITMQ_URL,
      queue,
      controlExchange,
      eventExchange,
      tasks: fixture('farm-tasks.js'),
      maxWorkers: 1,
      backoff: { kind: 'fixed', delay: 100 },
      scaleCheckInterval: 50,
      heartbeatInterval: 200,
      ...options,
    })
    nodes.push(node)
    return node
  }
  const publisher = async (url = RABBITMQ_URL): Promise<Publisher> => keep(await createPublisher({ url, queue }))

  return { ...topology, start, publisher }
}
