/** Nodes on a Faktory server for one test. */
import { createNode, type FarmNode, type NodeOptions } from 'prefork/node'
import { onTestFinished } from 'vitest'
import { endpointOf } from '../../../src/faktory/options.js'
import { FaktoryBroker, type FaktorySettings } from '../../../src/faktory/worker/faktory-broker.js'
import { type QueueList, QueueOrder } from '../../../src/faktory/worker/queue-order.js'
import { newName, type RawClient } from '../../fixtures/faktory.js'
import { fixture } from '../../fixtures/pools.js'

export interface NodeOnFaktory {
  readonly node: FarmNode
  readonly broker: FaktoryBroker
  readonly wid: string
  readonly warnings: string[]
}

type Given = Partial<Omit<FaktorySettings, 'queues' | 'control'>> & {
  readonly queues: QueueList
  readonly control?: string
  readonly node?: Partial<NodeOptions>
}

/** A broker with what `createWorker` does not let a user set: the interval of beats, any margin. */
export const brokerOn = (url: string, { queues, node: _, ...given }: Given): { broker: FaktoryBroker; wid: string; name: string } => {
  const wid = newName()
  const name = newName()
  const broker = new FaktoryBroker({
    ...endpointOf({ url, tls: undefined }),
    identity: { wid, hostname: 'test', pid: process.pid, labels: ['prefork', 'node'] },
    fetchers: 10,
    reserveMargin: 5_000,
    beatInterval: 15_000,
    maxBodySize: 1_000_000,
    control: undefined,
    name,
    queues: new QueueOrder(queues),
    ...given,
  })
  return { broker, wid, name }
}

/** A node of one worker, five jobs at once. It ends with the test. */
export const nodeOn = async (url: string, given: Given): Promise<NodeOnFaktory> => {
  const { broker, wid, name } = brokerOn(url, given)
  const warnings: string[] = []
  broker.on('warning', (message) => warnings.push(message))
  const { concurrency = 5, ...options } = given.node ?? {}
  const node = await createNode(broker, {
    tasks: fixture('farm-tasks.js'),
    name,
    maxWorkers: options.minWorkers ?? 1,
    ...options,
    concurrency,
    prefetchPerWorker: concurrency,
  })
  onTestFinished(async () => {
    await node.shutdown({ grace: 0 })
  })
  return { node, broker, wid, warnings }
}

let jobs = 0

/** Pushes a job and returns its jid. */
export const push = async (client: RawClient, queue: string, jobtype: string, args: readonly unknown[] = [], more: object = {}): Promise<string> => {
  const jid = `job-${process.pid}-${++jobs}-${newName()}`
  await client.push({ jid, jobtype, args, queue, retry: 5, ...more })
  return jid
}

/** Moves jobs of a queue that have failed, or are dead, back to the queue, and fetches one. */
export const failedJob = async (client: RawClient, jid: string, queue: string, target: 'retries' | 'dead' = 'retries') => {
  await client.ask(`MUTATE ${JSON.stringify({ cmd: 'requeue', target, filter: { jids: [jid] } })}`)
  const job = await client.fetch(queue)
  if (job !== undefined) await client.ask(`ACK ${JSON.stringify({ jid: job.jid })}`)
  return job
}
