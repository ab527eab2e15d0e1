/** What a lost session does to the jobs of a node, with real workers. */
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NodeHooks } from '../../../src/queue/broker/hooks.js'
import { QueueBroker } from '../../../src/queue/broker/queue-broker.js'
import { MemoryDatabase } from '../../../src/queue/store/memory/memory-database.js'
import { MemoryStore } from '../../../src/queue/store/memory/memory-store.js'
import { encodeJob } from '../../../src/runtime/message/job.js'
import { startUnder } from '../../fixtures/nodes.js'
import { Journal, until } from '../../fixtures/support.js'
import { newJob } from '../store/contract.js'

const loseAll = (database: MemoryDatabase): void => {
  for (const session of [...database.sessions.keys()]) (session as unknown as { lose(): void }).lose()
}

/** A store with one job, which spins at its first run, and a node that has begun it. */
const withSpinningJob = async () => {
  const database = new MemoryDatabase()
  const store = new MemoryStore(database)
  await store.open()
  onTestFinished(() => store.close())
  const hooks = new NodeHooks({ store: 'memory:', node: 'n', queues: ['q'] }, [], [])
  const settings = { queues: ['q'], name: 'n', schedulers: true, maxResultSize: 1_000, hooks, onFatal: () => {} }
  const node = await startUnder(new QueueBroker(new MemoryStore(database), settings))
  const journal = new Journal()
  const { body } = encodeJob({ task: 'spinOnce', args: [journal.path, 'a'] })
  await store.add([newJob({ id: 'a', task: 'spinOnce', body })])
  await journal.seen('+a')
  await until('the node knows that it has begun', () => node.stats().running === 1)
  return { database, store, node, journal }
}

const stateOf = async (store: MemoryStore): Promise<string> => (await store.read('q', 'a'))!.state

describe('a job that was cancelled as its session was lost, and is retried while its first run ends', () => {
  it.each(['the loss', 'the cancellation'])('runs again on the same node, where %s was known first', async (first) => {
    const { database, store, journal } = await withSpinningJob()
    await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
    // The node hears of the cancellation in a turn of its own.
    if (first === 'the cancellation') await setImmediate()
    loseAll(database)
    expect(await stateOf(store)).toBe('cancelled')
    expect(await store.alter({ queue: 'q' }, 'retry')).toEqual(['a'])
    await until('it has run again', async () => !['waiting', 'active'].includes(await stateOf(store)))
    expect(await stateOf(store)).toBe('completed')
    expect(journal.lines).toEqual(['+a', '-a'])
  })
})

it('claims under another session when the one that it opens is lost at once', async () => {
  const { database, store } = await withSpinningJob()
  await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
  const before = [...database.sessions.keys()]
  loseAll(database)
  const opened = [...database.sessions.keys()].filter((session) => !before.includes(session))
  expect(opened.length).toBe(1)
  loseAll(database)
  await store.alter({ queue: 'q' }, 'retry')
  await until('it has run again', async () => (await stateOf(store)) === 'completed')
})

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
  loseAll(database)
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
