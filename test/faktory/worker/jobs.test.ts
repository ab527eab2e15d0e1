import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FAKTORY_URL, ownFaktory, RawClient, sharedFaktory } from '../../fixtures/faktory.js'
import { testLogger } from '../../fixtures/nodes.js'
import { Journal, Latch, until } from '../../fixtures/support.js'
import { failedJob, nodeOn, push } from './nodes.js'

const faktory = sharedFaktory()

const setUp = async (given: Partial<Parameters<typeof nodeOn>[1]> = {}) => {
  const queue = faktory.newQueue()
  const client = await faktory.connect()
  const started = await nodeOn(faktory.url, { queues: [queue], ...given })
  const waiting = async () => (await client.info()).faktory.queues[queue] ?? 0
  return { queue, client, waiting, ...started }
}

describe('a node on Faktory', () => {
  it('runs jobs and acknowledges them: nothing can be failed afterwards', async () => {
    const { queue, client, node } = await setUp()
    const journal = new Journal()
    const jid = await push(client, queue, 'mark', [journal.path, 'a'])
    await journal.seen('a')
    await until('it is acknowledged', () => node.stats().totals.succeeded === 1)
    await expect(client.ask(`FAIL ${JSON.stringify({ jid })}`)).rejects.toThrow('Job not found')
  })

  it('tells the task of its delivery', async () => {
    const { queue, client, node } = await setUp()
    const seen: unknown[] = []
    node.onEvent((event) => {
      if (event.type === 'task.progress') seen.push(event.value)
    })
    const jid = await push(client, queue, 'reportDelivery', [], { custom: { locale: 'de' }, reserve_for: 120 })
    await until('it has reported', () => seen.length > 0)
    expect(seen[0]).toEqual({
      id: jid,
      context: { locale: 'de' },
      delivery: {
        ...{ queue, attempt: 1, losses: 0, requeues: 0, redelivered: false },
        ...{ custom: { locale: 'de' }, reserve_for: 120, created_at: expect.stringMatching(/^\d{4}-/) },
      },
    })
  })

  it('fails what fails: with the name of the error, the message cut at a character, and as many lines as the job wants', async () => {
    const { queue, client, node } = await setUp()
    const text = 'é'.repeat(800)
    const jid = await push(client, queue, 'fail', [`a${text}`], { backtrace: 1 })
    const plain = await push(client, queue, 'fail', ['b'])
    await until('both have failed', () => node.stats().totals.retried === 2)
    await node.shutdown()
    const failed = (await failedJob(client, jid, queue))!
    expect(failed.failure).toMatchObject({ errtype: 'Error', message: `a${text.slice(0, 499)}`, retry_count: 0, remaining: 5 })
    expect(failed.failure!.backtrace).toEqual([expect.stringMatching(/^at fail \(/)])
    expect((await failedJob(client, plain, queue))!.failure!.backtrace ?? []).toEqual([])
  })

  it('counts the attempts of a job as the server does', async () => {
    const { queue, client, node } = await setUp()
    const seen: { delivery: { attempt: number; failure?: { retry_count: number } } }[] = []
    node.onEvent((event) => {
      if (event.type === 'task.progress') seen.push(event.value as (typeof seen)[0])
    })
    const jid = await push(client, queue, 'reportDelivery', [true], { retry: 1 })
    await until('it has failed', () => node.stats().totals.retried === 1)
    await client.ask(`MUTATE ${JSON.stringify({ cmd: 'requeue', target: 'retries', filter: { jids: [jid] } })}`)
    await until('it is dead', () => node.stats().totals.deadLettered === 1)
    expect(seen.map(({ delivery }) => [delivery.attempt, delivery.failure?.retry_count])).toEqual([
      [1, undefined],
      [2, 0],
    ])
    await node.shutdown()
    expect((await failedJob(client, jid, queue, 'dead'))?.jid).toBe(jid)
  })

  it('tells a job that is forgotten from one that is dead', async () => {
    const { logger, lines } = testLogger()
    const { queue, client, node } = await setUp({ node: { logger } })
    const forgotten = await push(client, queue, 'fail', [], { retry: 0 })
    const dead = await push(client, queue, 'fail', [], { retry: -1 })
    await until('both have failed', () => node.stats().totals.failed === 2)
    expect(node.stats().totals).toMatchObject({ deadLettered: 1 })
    const errorOf = (jid: string) => lines.filter(({ level, job }) => level === 'error' && job === jid)
    expect(errorOf(forgotten)).toMatchObject([{ msg: 'job has failed and is forgotten: it has no retry left', queue }])
    expect(errorOf(dead)).toMatchObject([{ msg: 'job goes to the dead letters', queue }])
    await node.shutdown()
    expect(await failedJob(client, forgotten, queue, 'dead')).toBeUndefined()
    expect(await failedJob(client, dead, queue, 'dead')).toMatchObject({ jid: dead })
  })

  it('fails a job of an unknown type with the names that there are', async () => {
    const { queue, client, node } = await setUp()
    const jid = await push(client, queue, 'ecko')
    await until('it has failed', () => node.stats().totals.retried === 1)
    await node.shutdown()
    expect((await failedJob(client, jid, queue))!.failure).toMatchObject({
      errtype: 'TaskNotFoundError',
      message: expect.stringMatching(/^There is no task 'ecko'; did you mean 'echo'\? The tasks are: .*echo/),
    })
  })

  it.each([
    ['a hard limit', 'spinFor', [60_000], { timeLimit: 300 }, 'TimeLimit'],
    ['a soft limit', 'sleep', [60_000], { softTimeLimit: 200 }, 'SoftTimeLimit'],
  ])('names %s', async (_what, task, args, limits, errtype) => {
    const { queue, client, node } = await setUp({ node: { ...limits, concurrency: 1, cancelGrace: 100 } })
    const jid = await push(client, queue, task, args)
    await until('it has failed', () => node.stats().totals.retried === 1)
    await node.shutdown()
    const { failure } = (await failedJob(client, jid, queue))!
    expect(failure!.errtype).toBe(errtype)
    expect(failure!.message).not.toContain('reservation')
  })

  it('a task that returns a function has failed: nobody would call it', async () => {
    const { queue, client, node } = await setUp()
    const jid = await push(client, queue, 'unsendable')
    await until('it has ended', () => node.stats().totals.retried + node.stats().totals.succeeded === 1)
    await node.shutdown()
    expect((await failedJob(client, jid, queue))?.failure).toMatchObject({
      errtype: 'TypeError',
      message: expect.stringMatching(/^The task 'unsendable' returned a function, which nobody calls: export the function that does the work/),
    })
  })

  it('says that the jobs of a dead worker run alone, and how many wait', async () => {
    const { logger, lines } = testLogger()
    const { queue, client, node } = await setUp({ node: { concurrency: 2, maxLosses: 2, logger } })
    const journal = new Journal()
    const latch = new Latch()
    await push(client, queue, 'hold', [latch.path, journal.path, 'neighbour'])
    await journal.seen('+neighbour')
    await push(client, queue, 'dieThenMark', [journal.path, 'culprit'])
    await until('it is said', () =>
      lines.some(({ msg }) => msg.startsWith('the jobs of a worker that died run again in one worker, one after another and alone')),
    )
    expect(lines.filter(({ jobs }) => jobs === 2)).toMatchObject([{ level: 'warn', waiting: 0 }])
    latch.open()
    await until('both have ended', () => node.stats().totals.succeeded === 2)
  })

  it('runs a lost job again, alone, as often as maxLosses allows; then it has failed as WorkerLost', async () => {
    const { queue, client, node } = await setUp({ node: { maxLosses: 2, concurrency: 1 } })
    const journal = new Journal()
    await push(client, queue, 'dieThenMark', [journal.path, 'survived'])
    await journal.seen('survived')
    const jid = await push(client, queue, 'killSelf', ['SIGKILL'])
    await until('it is given up', () => node.stats().totals.retried === 1)
    expect(node.stats().totals).toMatchObject({ lost: 3, succeeded: 1 })
    await node.shutdown()
    expect((await failedJob(client, jid, queue))!.failure).toMatchObject({ errtype: 'WorkerLost', retry_count: 0 })
  })

  it('fetches no more than it runs', async () => {
    const { queue, client, waiting, node } = await setUp({ node: { concurrency: 2 }, fetchers: 5 })
    const journal = new Journal()
    const latch = new Latch()
    for (let index = 0; index < 6; index++) await push(client, queue, 'hold', [latch.path, journal.path, index])
    await until('two run', () => node.stats().running === 2)
    // A FETCH that was in flight would have brought a third by now.
    await sleep(100)
    expect(await waiting()).toBe(4)
    latch.open()
    await until('all have ended', () => node.stats().totals.succeeded === 6)
    expect(journal.overlap).toBe(2)
  })

  it('takes the queues in strict order, or draws them by weight', async () => {
    const [high, low] = [faktory.newQueue(), faktory.newQueue()]
    const client = await faktory.connect()
    const journal = new Journal()
    for (let index = 0; index < 3; index++) {
      await push(client, low, 'mark', [journal.path, `low${index}`])
      await push(client, high, 'mark', [journal.path, `high${index}`])
    }
    const { node } = await nodeOn(faktory.url, { queues: [high, low], node: { concurrency: 1 } })
    await until('all have run', () => node.stats().totals.succeeded === 6)
    expect(journal.lines).toEqual(['high0', 'high1', 'high2', 'low0', 'low1', 'low2'])
    await node.shutdown()
    for (const queue of [high, low]) await push(client, queue, 'mark', [journal.path, queue])
    const { node: weighted } = await nodeOn(faktory.url, { queues: { [high]: 1, [low]: 9 } })
    await until('both queues are served', () => weighted.stats().totals.succeeded === 2)
  })

  it('fails a job that is too large to be taken, and takes the next', async () => {
    const { queue, client, node } = await setUp({ maxBodySize: 10_000 })
    const jid = await push(client, queue, 'echo', ['x'.repeat(20_000)])
    const journal = new Journal()
    await push(client, queue, 'mark', [journal.path, 'next'])
    await journal.seen('next')
    await until('it has failed', () => node.stats().totals.retried === 1)
    await node.shutdown()
    expect((await failedJob(client, jid, queue))!.failure!.message).toContain('larger than maxBodySize')
  })

  it('runs two jobs of one jid', async () => {
    const { queue, client, node } = await setUp()
    const journal = new Journal()
    const jid = await push(client, queue, 'mark', [journal.path, 'a'])
    await client.push({ jid, jobtype: 'mark', args: [journal.path, 'b'], queue, retry: 5 })
    await until('both have run', () => node.stats().totals.succeeded === 2)
    expect(journal.lines.toSorted()).toEqual(['a', 'b'])
  })

  it('ends a job before its reservation does, also one that does not react, and tells the server', async () => {
    // 60 s is the shortest reservation.
    const { queue, client, node } = await setUp({ reserveMargin: 58_500, node: { concurrency: 1, cancelGrace: 300 } })
    const journal = new Journal()
    const soft = await push(client, queue, 'untilAborted', [journal.path, 'soft'], { reserve_for: 1 })
    await until('it was asked to stop', () => node.stats().totals.retried === 1)
    const hard = await push(client, queue, 'hold', [new Latch().path, journal.path, 'hard'], { reserve_for: 1 })
    await until('it was ended', () => node.stats().totals.retried === 2)
    await node.shutdown()
    const message = expect.stringMatching(/^The .*time limit of \d+ ms.* That is what was left of its reservation of 60 s \(reserve_for\)\.$/)
    expect((await failedJob(client, soft, queue))!.failure).toMatchObject({ errtype: 'SoftTimeLimit', message })
    expect((await failedJob(client, hard, queue))!.failure).toMatchObject({ errtype: 'TimeLimit', message })
    expect(journal.lines).toEqual(['+soft', '+hard'])
  })

  it('gives the runs of a lost job one reservation', async () => {
    const { queue, client, node } = await setUp({ reserveMargin: 57_000, node: { concurrency: 1, cancelGrace: 200 } })
    const journal = new Journal()
    // Its second run begins late, and has what the first has left.
    const began = performance.now()
    await push(client, queue, 'dieLateThenSpin', [journal.path, 1_500], { reserve_for: 1 })
    await until('it was ended', () => node.stats().totals.retried === 1)
    expect(journal.lines).toEqual(['+1', '+2'])
    // Two reservations would be 6 s.
    expect(performance.now() - began).toBeLessThan(5_500)
  })
})

// A real server with a password: FAKTORY_URL has one, or not.
it.skipIf(FAKTORY_URL !== undefined)('logs in with a password, on every connection', async () => {
  const server = await ownFaktory({ password: 'geheim%&=@ä' })
  const client = await RawClient.connect(server.url)
  onTestFinished(() => client.close())
  const { node } = await nodeOn(server.url, { queues: ['q'] })
  const journal = new Journal()
  await push(client, 'q', 'mark', [journal.path, 'a'])
  await journal.seen('a')
  await until('it is acknowledged', () => node.stats().totals.succeeded === 1)
})
