/** Nodes of a queue at their defaults. */
import { createQueue, createWorker } from 'prefork/queue'
import { describe, onTestFinished } from 'vitest'
import { type DefaultsNode, type DefaultsOptions, isolatesFaults, leavesJobsToOthers, spreadsItsJobs } from '../../fixtures/node-defaults.js'
import { fixture } from '../../fixtures/pools.js'
import { scratch } from '../../fixtures/support.js'
import { hasSqlite } from '../store/sqlite/files.js'

let stores = 0

const start =
  (storeOf: () => string, queues = ['default']) =>
  async (options: DefaultsOptions): Promise<DefaultsNode> => {
    const store = storeOf()
    const queue = await createQueue({ store, queue: queues[0]! })
    const node = await createWorker({ store, queues, tasks: fixture('farm-tasks.js'), ...options })
    onTestFinished(async () => {
      await node.shutdown({ grace: 0 })
      await queue.close()
    })
    return { node, add: (task, argsOfEach) => queue.addBulk(argsOfEach.map((args) => ({ task, args: [...args] }))) }
  }

const memory = (): string => `memory:defaults-${++stores}`
const file = (): string => `sqlite:${scratch()}/jobs.db`

describe('a node at its defaults, in memory', () => {
  spreadsItsJobs({ 'one queue': start(memory), 'four queues, and jobs in one of them': start(memory, ['a', 'b', 'c', 'd']) })
})

describe.skipIf(!hasSqlite)('a node at its defaults, in a file', () => {
  spreadsItsJobs({ 'one queue': start(file) })
  isolatesFaults(start(file))

  leavesJobsToOthers(async (options) => {
    const store = file()
    const [first, second] = [await start(() => store)(options), await start(() => store)(options)]
    return { nodes: [first.node, second.node], add: first.add }
  })
})
