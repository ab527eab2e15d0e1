import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FAKTORY_URL, ownFaktory, RawClient, sharedFaktory } from '../../fixtures/faktory.js'
import { testLogger } from '../../fixtures/nodes.js'
import { Journal, Latch, scratch, until } from '../../fixtures/support.js'
import { lineServer } from '../connection/line-server.js'
import { lineProxy } from './line-proxy.js'
import { brokerOn, failedJob, nodeOn, push } from './nodes.js'

describe('under Faktory', () => {
  const faktory = sharedFaktory()

  const setUp = async (given: Partial<Parameters<typeof nodeOn>[1]> = {}) => {
    const proxy = await lineProxy(faktory.url)
    const queue = faktory.newQueue()
    const client = await faktory.connect()
    return { proxy, queue, client, ...(await nodeOn(proxy.url, { queues: [queue], ...given })) }
  }

  it('what ends while its connections are cut is reported later, and runs once', async () => {
    const { proxy, queue, client, node } = await setUp()
    const journal = new Journal()
    const latch = new Latch()
    const jids: string[] = []
    for (let index = 0; index < 4; index++) jids.push(await push(client, queue, index < 2 ? 'hold' : 'holdThenFail', [latch.path, journal.path, index]))
    await until('they run', () => node.stats().running === 4)
    proxy.shut()
    await until('it has noticed', () => !node.stats().connected)
    latch.open()
    await until('they have ended', () => node.stats().running === 0)
    expect(node.stats().totals).toMatchObject({ succeeded: 0, retried: 0 })
    proxy.open()
    await until('they are reported', () => node.stats().totals.succeeded === 2 && node.stats().totals.retried === 2)
    // Until then the server hands jobs to a FETCH whose connection is gone.
    await sleep(2_100)
    await push(client, queue, 'mark', [journal.path, 'after'])
    await journal.seen('after')
    await node.shutdown()
    for (const jid of jids.slice(0, 2)) await expect(client.ask(`FAIL ${JSON.stringify({ jid })}`)).rejects.toThrow('Job not found')
    for (const jid of jids.slice(2)) expect((await failedJob(client, jid, queue))!.failure).toMatchObject({ message: 'alas', retry_count: 0 })
    expect(journal.lines.filter((line) => line.startsWith('+'))).toHaveLength(4)
  })

  it('a report whose answer is lost is sent again', async () => {
    const { proxy, queue, client, node } = await setUp()
    const journal = new Journal()
    const latch = new Latch()
    const jid = await push(client, queue, 'hold', [latch.path, journal.path, 'a'])
    await journal.seen('+a')
    proxy.mute()
    latch.open()
    await until('the ACK is written', () => proxy.lines.some((line) => line.startsWith('ACK')))
    proxy.cut()
    proxy.flow()
    await until('it is acknowledged', () => node.stats().totals.succeeded === 1)
    expect(proxy.lines.filter((line) => line === `ACK ${JSON.stringify({ jid })}`)).toHaveLength(2)
  })

  it('a FETCH that is cut is made anew, and its jobs are not taken twice', async () => {
    const { proxy, queue, client, node } = await setUp()
    const journal = new Journal()
    proxy.cut('FETCH')
    await until('it fetches again', () => proxy.lines.filter((line) => line.startsWith('FETCH')).length >= 10)
    // The server may still serve what it has not seen to be gone: those jobs are reserved until the reservation ends.
    await sleep(2_100)
    await push(client, queue, 'mark', [journal.path, 'a'])
    await journal.seen('a')
    await until('it is acknowledged', () => node.stats().totals.succeeded === 1)
  })

  it('a connection that fetches is never the first to say HELLO again: the server would hand it no job after a pause', async () => {
    const { proxy, queue, client, node } = await setUp({ beatInterval: 100 })
    const journal = new Journal()
    for (let round = 0; round < 4; round++) {
      proxy.shut()
      await until('it has noticed', () => !node.stats().connected)
      const before = proxy.conversations.length
      proxy.open()
      const fetching = (): number => proxy.conversations.slice(before).filter((each) => each.some((line) => line.startsWith('FETCH'))).length
      await until('each connection is back', () => fetching() === 5)
      expect(proxy.conversations[before]!.filter((line) => line.startsWith('FETCH'))).toEqual([])
    }
    await node.command({ command: 'pause' })
    const paused = proxy.lines.length
    await until('it has said so', () => proxy.lines.slice(paused).some((line) => line.includes('"current_state":"quiet"')))
    await node.command({ command: 'resume' })
    for (let index = 0; index < 5; index++) await push(client, queue, 'mark', [journal.path, index])
    await until('they have ended', () => node.stats().totals.succeeded === 5)
  })

  it('shows that it is not connected while no connection can fetch, and says why', async () => {
    const { proxy, node, warnings } = await setUp()
    await until('it fetches', () => proxy.lines.filter((line) => line.startsWith('FETCH')).length >= 5)
    expect(node.stats().connected).toBe(true)
    proxy.refuseFrom(0)
    proxy.cut('FETCH')
    await until('it shows', () => !node.stats().connected)
    await until('it says so', () => warnings.some((each) => each.startsWith('A connection that fetches jobs is down, and is tried again: ')))
    // The one for commands is there.
    expect(warnings.some((each) => each.includes('cannot be reached'))).toBe(false)
    proxy.refuseFrom(undefined)
    await until('it fetches again', () => node.stats().connected)
  })

  it('what a FETCH brings that was in flight when the node was told to stop still runs, and nothing stays reserved', async () => {
    const { queue, client, node, proxy } = await setUp()
    await until('it fetches', () => proxy.lines.filter((line) => line.startsWith('FETCH')).length >= 5)
    const journal = new Journal()
    const done = node.shutdown()
    const jid = await push(client, queue, 'mark', [journal.path, 'a'])
    expect(await done).toEqual({ clean: true, requeued: 0, killed: 0 })
    expect(journal.lines).toEqual(['a'])
    await expect(client.ask(`FAIL ${JSON.stringify({ jid })}`)).rejects.toThrow('Job not found')
    // It has said END on each connection, with nothing in flight.
    expect(proxy.lines.filter((line) => line === 'END').length).toBe(6)
  })

  it('also when it has no grace: then it is failed, as it has not begun', async () => {
    const { queue, client, node, proxy } = await setUp()
    await until('it fetches', () => proxy.lines.filter((line) => line.startsWith('FETCH')).length >= 5)
    const done = node.shutdown({ grace: 0 })
    const jid = await push(client, queue, 'echo', ['a'])
    await done
    expect((await failedJob(client, jid, queue))!.failure).toMatchObject({ errtype: 'NodeShutdown', retry_count: 0 })
  })

  it('one that has not begun and has no retry left stays reserved: the node says so, and counts it', async () => {
    const { queue, client, node, proxy, warnings } = await setUp()
    await until('it fetches', () => proxy.lines.filter((line) => line.startsWith('FETCH')).length >= 5)
    const done = node.shutdown({ grace: 0 })
    // A FETCH takes 2 s: it is in flight still.
    await until('the grace is over', () => node.stats().scale.alive === 0)
    const jid = await push(client, queue, 'echo', ['a'], { retry: -1 })
    expect(await done).toEqual({ clean: false, requeued: 0, killed: 0, left: 1 })
    expect(warnings).toContainEqual(
      expect.stringMatching(new RegExp(`^The job ${jid} \\('echo'\\) has never begun and has no retry left\\. It is left to its reservation`)),
    )
    expect(await client.ask(`FAIL ${JSON.stringify({ jid })}`)).toBe('OK')
  })

  it('a job that was killed comes back as the server has it: after its delay, as the next attempt', async () => {
    const { queue, client, node } = await setUp()
    const journal = new Journal()
    const retried: object[] = []
    node.onEvent((event) => {
      if (event.type === 'task.retried') retried.push(event)
    })
    await push(client, queue, 'hold', [new Latch().path, journal.path, 'a'])
    await journal.seen('+a')
    await node.shutdown({ grace: 0 })
    expect(retried).toMatchObject([{ delay: 15_000, counts: { attempt: 2 } }])
  })

  it('a shutdown fails what has a retry left, and leaves what a FAIL would end to its reservation', async () => {
    const { logger, lines } = testLogger()
    const { queue, client, node, warnings } = await setUp({ node: { logger } })
    const journal = new Journal()
    const hold = (id: string, more: object): Promise<string> => push(client, queue, 'hold', [new Latch().path, journal.path, id], more)
    const retried = await hold('retried', { retry: 2 })
    const never = await hold('never', { retry: 0 })
    const dead = await hold('dead', { retry: -1 })
    const last = await push(client, queue, 'failThenHold', [new Latch().path, journal.path, 'last'], { retry: 1 })
    await until('the first attempt has failed', () => node.stats().totals.retried === 1)
    await client.ask(`MUTATE ${JSON.stringify({ cmd: 'requeue', target: 'retries', filter: { jids: [last] } })}`)
    await until('they run', () => node.stats().running === 4)
    expect(await node.shutdown({ grace: 100 })).toEqual({ clean: false, requeued: 0, killed: 4 })
    expect((await failedJob(client, retried, queue))!.failure).toMatchObject({ errtype: 'NodeShutdown', remaining: 2 })
    expect(warnings.filter((each) => each.includes('has begun, has not ended and has no retry left. It is left to its reservation'))).toHaveLength(3)
    expect(warnings.some((each) => each.includes(never) && each.includes('takes it for failed, and forgets it'))).toBe(true)
    expect(warnings.some((each) => each.includes(dead) && each.includes('takes it for failed, and puts it into the dead set'))).toBe(true)
    expect(lines.filter(({ msg }) => msg.startsWith('the outcome of a job was not reported: the broker takes the job for failed when'))).toEqual(
      expect.arrayContaining([never, dead, last].map((job) => expect.objectContaining({ job, queue, outcome: 'failed' }))),
    )
    // They are reserved still: the server takes a FAIL.
    for (const jid of [never, dead, last]) expect(await client.ask(`FAIL ${JSON.stringify({ jid })}`)).toBe('OK')
  })

  it('a node ends within 5 s after the grace when the server is silent, and says what it leaves behind', async () => {
    const { queue, client, node, proxy, warnings } = await setUp()
    const journal = new Journal()
    await push(client, queue, 'hold', [new Latch().path, journal.path, 'a'])
    await journal.seen('+a')
    await until('the other connections fetch', () => proxy.lines.filter((line) => line.startsWith('FETCH')).length >= 5)
    proxy.mute()
    const begun = performance.now()
    expect(await node.shutdown({ grace: 0 })).toEqual({ clean: false, requeued: 0, killed: 1 })
    // 4.5 s, and some for a busy machine.
    expect(performance.now() - begun).toBeLessThan(7_500)
    expect(warnings.some((each) => /^[45] FETCHes were not answered before the end: .*When its reservation ends/.test(each))).toBe(true)
    expect(warnings.some((each) => /^1 job ended and could not be reported/.test(each))).toBe(true)
  })

  it('reports what a FETCH brings that is answered while the broker closes', async () => {
    let answer = (): void => {}
    const { url, lines } = await lineServer({
      answer: (line, socket) => {
        if (!line.startsWith('FETCH')) return '+OK\r\n'
        const job = JSON.stringify({ jid: 'j1', queue: 'q', jobtype: 't', args: [], retry: 5 })
        answer = () => socket.write(`$${job.length}\r\n${job}\r\n`)
        return undefined
      },
    })
    const { broker } = brokerOn(url, { queues: ['q'], fetchers: 1 })
    await broker.start()
    broker.consume(1, (delivery) => void delivery.settle({ kind: 'requeue' }))
    await until('it fetches', () => lines.some((line) => line.startsWith('FETCH')))
    const closed = broker.close(10_000)
    await sleep(2_500)
    answer()
    await closed
    expect(lines.filter((line) => /^(FAIL|END)/.test(line)).map((line) => line.split(' ')[0])).toEqual(['FAIL', 'END', 'END'])
  })

  it('a task that throws what the end of a node throws has failed', async () => {
    const { queue, client, node, warnings } = await setUp()
    const jid = await push(client, queue, 'failWith', ['ERR_PREFORK_NODE_SHUTDOWN'], { retry: -1 })
    await until('it has failed', () => node.stats().totals.deadLettered + node.stats().totals.retried === 1)
    await node.shutdown()
    expect(await failedJob(client, jid, queue, 'dead')).toMatchObject({ jid })
    expect(warnings).toEqual([])
  })

  it('a job that was failed at the end of the grace is not acknowledged afterwards', async () => {
    const { queue, client, node, proxy } = await setUp({ node: { cancelGrace: 100 } })
    const journal = new Journal()
    const jid = await push(client, queue, 'holdSync', [new Latch().path, journal.path, 'a'])
    await journal.seen('+a')
    await node.shutdown({ grace: 0 })
    expect(proxy.lines.filter((line) => line.includes(jid) && !line.startsWith('FETCH')).map((line) => line.split(' ')[0])).toEqual(['FAIL'])
  })
})

// No test can restart a server of somebody else.
describe.skipIf(FAKTORY_URL !== undefined)('a server that is restarted', () => {
  it('takes the reports of what it has handed out before', async () => {
    const server = await ownFaktory({ file: `${scratch()}/jobs.json` })
    const connect = async (): Promise<RawClient> => {
      const client = await RawClient.connect(server.url)
      onTestFinished(() => client.close())
      return client
    }
    const { node } = await nodeOn(server.url, { queues: ['q'] })
    const client = await connect()
    const journal = new Journal()
    const latch = new Latch()
    for (let index = 0; index < 3; index++) await push(client, 'q', index === 0 ? 'holdThenFail' : 'hold', [latch.path, journal.path, index])
    await until('they run', () => node.stats().running === 3)
    await server.stop()
    latch.open()
    await until('they have ended', () => node.stats().running === 0)
    await server.start()
    await until('they are reported', () => node.stats().totals.succeeded === 2 && node.stats().totals.retried === 1)
    const after = await connect()
    expect((await after.info()).faktory.sets).toMatchObject({ working: 0, retries: 1 })
    await push(after, 'q', 'mark', [journal.path, 'after'])
    await journal.seen('after')
  })
})
