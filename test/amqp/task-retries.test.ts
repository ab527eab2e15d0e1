/** A task decides about its retries, and runs that are lost stay in the history: on RabbitMQ. */
import { listDeadLetters } from 'prefork/amqp'
import { expect, it } from 'vitest'
import type { FarmEvent } from '../../src/runtime/report/report.js'
import { testLogger } from '../fixtures/nodes.js'
import { fixture } from '../fixtures/pools.js'
import { Journal } from '../fixtures/support.js'
import { isolatedNodes } from './isolated-nodes.js'
import { RABBITMQ_URL, until, withRabbit } from './rabbit.js'

const tasks = fixture('retry-tasks.js')

withRabbit('a node', () => {
  const { queue, start, publisher } = isolatedNodes()
  const dead = async (id: string) =>
    await until('it is dead-lettered', async () => (await listDeadLetters({ url: RABBITMQ_URL, queue })).find((letter) => letter.id === id))

  it('dead-letters what must not be tried again after one attempt', async () => {
    await start({ tasks })
    const out = await publisher()
    const journal = new Journal()
    for (const thrown of ['final', 'subclass', 'bullmq']) await out.publish('throwIn', [journal.path, thrown], { messageId: thrown })
    expect(await dead('final')).toMatchObject({
      reason: 'failed',
      counts: { attempt: 1 },
      error: { name: 'NonRetryableError', message: 'it cannot succeed', code: 'ERR_PREFORK_NON_RETRYABLE' },
      history: [{ outcome: 'failed' }],
    })
    expect(await dead('subclass')).toMatchObject({ error: { name: 'NoSuchCustomer' } })
    expect(await dead('bullmq')).toMatchObject({ error: { name: 'UnrecoverableError' } })
    expect(journal.lines).toEqual(['1', '1', '1'])
  })

  it('waits as long as a task says, and at most as long as RabbitMQ can', async () => {
    const { logger, lines } = testLogger()
    const node = await start({ tasks, logger, backoff: { kind: 'fixed', delay: 3_600_000 } })
    const events: FarmEvent[] = []
    node.onEvent((event) => void events.push(event))
    const out = await publisher()
    expect(await out.call('throwOnce', ['later', 100])).toBe(2)
    await out.publish('throwOnce', ['later', 1e12])
    const delays = () => events.flatMap((event) => (event.type === 'task.retried' ? [event.delay] : []))
    await until('the other is published again', () => delays().length === 2)
    expect(delays()).toEqual([100, 2_592_000_000])
    expect(lines.filter(({ wanted }) => wanted !== undefined)).toMatchObject([{ level: 'warn', task: 'throwOnce', wanted: 1e12, delay: 2_592_000_000 }])
  })

  it('takes maxAttempts and backoff from the message, from taskDefaults, from defineTask, in this order', async () => {
    await start({ tasks, taskDefaults: { throwIn: { maxAttempts: 2 } } })
    const out = await publisher()
    await out.publish('ofTask', [], { messageId: 'task' })
    await out.publish('ofTask', [], { messageId: 'message', maxAttempts: 1 })
    await out.publish('throwIn', [new Journal().path, 'plain'], { messageId: 'node' })
    expect(await dead('task')).toMatchObject({ counts: { attempt: 2 } })
    expect(await dead('message')).toMatchObject({ counts: { attempt: 1 } })
    expect(await dead('node')).toMatchObject({ counts: { attempt: 2 } })
  })

  it('has the reason of each lost run in the history of a dead letter, and the job whose limit it was', async () => {
    await start({ tasks, concurrency: 2, prefetchPerWorker: 2, maxLosses: 1 })
    const out = await publisher()
    const journal = new Journal()
    await out.publish('waitForDeath', [journal.path, 'victim'], { messageId: 'victim' })
    await out.publish('spinBeside', [journal.path, 'culprit'], { messageId: 'abc', timeLimit: 300, maxAttempts: 1 })
    expect(await dead('victim')).toMatchObject({
      reason: 'lost',
      counts: { losses: 1 },
      error: { code: 'ERR_PREFORK_WORKER_LOST', message: expect.stringContaining("The job 'spinBeside' (abc) ran longer than its time limit of 300 ms.") },
      history: [{ outcome: 'lost', error: expect.stringMatching(/^ended with worker \d+: time limit of job 'abc' \(task 'spinBeside'\)$/) }],
    })
    await out.publish('dieOnceThenThrow', ['final'], { messageId: 'again', retryLost: 1 })
    expect(await dead('again')).toMatchObject({
      counts: { attempt: 1, losses: 1 },
      history: [{ outcome: 'lost', error: expect.stringMatching(/^ended with worker \d+: killed by SIGSEGV$/) }, { outcome: 'failed' }],
    })
  })
})
