/** Nodes on Faktory at their defaults. */
import { createWorker } from 'prefork/faktory'
import { describe, onTestFinished } from 'vitest'
import { sharedFaktory } from '../../fixtures/faktory.js'
import { type DefaultsNode, type DefaultsOptions, isolatesFaults, leavesJobsToOthers, spreadsItsJobs } from '../../fixtures/node-defaults.js'
import { fixture } from '../../fixtures/pools.js'
import { push } from './nodes.js'

const faktory = sharedFaktory()

const newQueues = (count: number): string[] => Array.from({ length: count }, () => faktory.newQueue())

const start =
  (queuesOf: () => string[]) =>
  async (options: DefaultsOptions): Promise<DefaultsNode> => {
    const queues = queuesOf()
    const client = await faktory.connect()
    const node = await createWorker({ url: faktory.url, queues, tasks: fixture('farm-tasks.js'), ...options })
    onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
    const add = async (task: string, argsOfEach: readonly (readonly unknown[])[]): Promise<void> => {
      for (const args of argsOfEach) await push(client, queues.at(-1)!, task, args)
    }
    return { node, add }
  }

describe('a node at its defaults', () => {
  spreadsItsJobs({ 'one queue': start(() => newQueues(1)), 'four queues, and jobs in one of them': start(() => newQueues(4)) })
  isolatesFaults(start(() => newQueues(1)))

  leavesJobsToOthers(async (options) => {
    const queues = newQueues(1)
    const [first, second] = [await start(() => queues)(options), await start(() => queues)(options)]
    return { nodes: [first.node, second.node], add: first.add }
    // What was fetched runs here: up to prefetchPerWorker - 1 jobs.
  }, 9)
})
