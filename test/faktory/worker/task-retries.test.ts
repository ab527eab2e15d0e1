/** A task decides about its retries, under a server that decides by itself. */
import { expect, it } from 'vitest'
import { sharedFaktory } from '../../fixtures/faktory.js'
import { testLogger } from '../../fixtures/nodes.js'
import { fixture } from '../../fixtures/pools.js'
import { Journal, until } from '../../fixtures/support.js'
import { failedJob, nodeOn, push } from './nodes.js'

const faktory = sharedFaktory()

const setUp = async (options: object = {}) => {
  const queue = faktory.newQueue()
  const client = await faktory.connect()
  const started = await nodeOn(faktory.url, { queues: [queue], node: { tasks: fixture('retry-tasks.js'), ...options } })
  return { queue, client, ...started }
}

it.each(['final', 'subclass', 'bullmq'])('a job that must not be tried again is dead after one attempt, and no other job is: %s', async (thrown) => {
  const { queue, client, node, warnings } = await setUp()
  const journal = new Journal()
  const other = await push(client, queue, 'throwIn', [journal.path, 'plain'])
  await until('it waits for its retry', () => node.stats().totals.retried === 1)
  // Its arguments name the job that is to die.
  const jid = `victim-${other}`
  const naming = await push(client, queue, 'throwIn', [journal.path, 'plain', { jid, queue }])
  await until('that waits, too', () => node.stats().totals.retried === 2)
  await client.push({ jid, jobtype: 'throwIn', args: [journal.path, thrown], queue, retry: 5 })
  await until('it is dead', () => node.stats().totals.deadLettered === 1)
  expect(journal.lines).toEqual(['1', '1', '1'])
  await node.shutdown()
  expect(warnings).toEqual([])
  // First: the filter of this look fits the job that names the other, too.
  for (const alive of [other, naming]) expect(await failedJob(client, alive, queue)).toMatchObject({ jid: alive })
  expect(await failedJob(client, jid, queue)).toBeUndefined()
  expect(await failedJob(client, jid, queue, 'dead')).toMatchObject({ jid, failure: { retry_count: 0, remaining: 5 } })
})

it('one without a retry left is dead or forgotten by the server itself', async () => {
  const { queue, client, node, warnings } = await setUp()
  const journal = new Journal()
  const dead = await push(client, queue, 'throwIn', [journal.path, 'final'], { retry: -1 })
  const forgotten = await push(client, queue, 'throwIn', [journal.path, 'final'], { retry: 0 })
  await until('both have failed', () => node.stats().totals.failed === 2)
  await node.shutdown()
  expect(warnings).toEqual([])
  expect(await failedJob(client, dead, queue, 'dead')).toMatchObject({ jid: dead })
  expect(await failedJob(client, forgotten, queue, 'dead')).toBeUndefined()
})

it('a jid that no command can carry is left among the retries, with a warning', async () => {
  const { queue, client, node, warnings } = await setUp()
  const jid = `with a space ${queue}`
  await client.push({ jid, jobtype: 'throwIn', args: [new Journal().path, 'final'], queue, retry: 5 })
  await until('it has failed', () => node.stats().totals.deadLettered === 1)
  expect(warnings).toEqual([
    expect.stringMatching(/^The job with a space .* has failed for good, and could not be put into the dead set: .* Faktory tries it again\.$/),
  ])
})

it('what the protocol cannot say is warned of once for each task and option', async () => {
  const { logger, lines } = testLogger()
  const { queue, client, node } = await setUp({ logger })
  for (const delay of [5, 6]) await push(client, queue, 'throwOnce', ['later', delay])
  for (let times = 0; times < 2; times++) await push(client, queue, 'ofTask')
  await until('all have failed', () => node.stats().totals.retried === 4)
  const warned = lines.filter(({ level, option }) => level === 'warn' && option !== undefined).map(({ task, option }) => `${task} ${option}`)
  expect(warned.sort()).toEqual(['ofTask backoff', 'ofTask maxAttempts', 'throwOnce delay'])
})

it('FAIL says with which worker runs ended before the last one, and what ended the last one', async () => {
  const { queue, client, node } = await setUp({ maxLosses: 2 })
  const failed = await push(client, queue, 'dieOnceThenThrow', ['plain'])
  const lost = await push(client, queue, 'dieOnce', [], { retry: 5 })
  await until('one has failed', () => node.stats().totals.retried === 1)
  await until('the other has run again', () => node.stats().totals.succeeded === 1)
  await node.shutdown()
  expect((await failedJob(client, failed, queue))!.failure!.message).toMatch(/^it failed \(Runs before it: ended with worker \d+: killed by SIGSEGV\.\)$/)
  expect(await failedJob(client, lost, queue)).toBeUndefined()
})
