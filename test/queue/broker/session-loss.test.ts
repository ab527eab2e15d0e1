/** What a lost session does to the jobs of a node, with real workers. */
import { expect, it, onTestFinished } from 'vitest'
import { NodeHooks } from '../../../src/queue/broker/hooks.js'
import { QueueBroker } from '../../../src/queue/broker/queue-broker.js'
import { MemoryDatabase } from '../../../src/queue/store/memory/memory-database.js'
import { MemoryStore } from '../../../src/queue/store/memory/memory-store.js'
import { encodeJob } from '../../../src/runtime/message/job.js'
import { startUnder } from '../../fixtures/nodes.js'
import { Journal, until } from '../../fixtures/support.js'
import { newJob } from '../store/contract.js'

it('ends what runs, which runs elsewhere, and is told of by nobody but the second run', async () => {
  const database = new MemoryDatabase()
  const store = new MemoryStore(database)
  await store.open()
  onTestFinished(() => store.close())
  const brokerOf = (name: string): QueueBroker => {
    const hooks = new NodeHooks({ store: 'memory:', node: name, queues: ['q'] }, [], [])
    return new QueueBroker(new MemoryStore(database), { queues: ['q'], name, schedulers: true, maxResultSize: 1_000, hooks, onFatal: () => {} })
  }
  const journal = new Journal()
  const first = await startUnder(brokerOf('first'))
  const events: string[] = []
  first.onEvent((event) => 'id' in event && events.push(event.type))
  const ended: string[] = []
  store.watch(({ type, id }) => type === 'completed' && ended.push(id))
  const { body } = encodeJob({ task: 'spinUnlessLost', args: [journal.path, 'a'] })
  await store.add([newJob({ id: 'a', task: 'spinUnlessLost', body })])
  await journal.seen('+a')
  await until('the node knows that it has begun', () => events.includes('task.started'))
  // It takes no more, so that the other one runs it.
  await first.command({ command: 'quiet' })
  for (const session of database.sessions.keys()) (session as unknown as { lose(): void }).lose()
  await until('its run is ended', () => first.stats().running === 0)
  expect(first.stats().totals).toMatchObject({ succeeded: 0, failed: 0 })
  expect((await store.read('q', 'a'))!.counts).toEqual({ attempt: 1, losses: 1, requeues: 0 })
  await startUnder(brokerOf('second'))
  await until('it is completed', async () => (await store.read('q', 'a'))!.state === 'completed')
  expect(journal.lines).toEqual(['+a', '-a'])
  await until('it is told', () => ended.length > 0)
  expect(ended).toEqual(['a'])
  expect(events).toEqual(['task.received', 'task.started'])
})
