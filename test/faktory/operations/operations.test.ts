import { describe, expect, it } from 'vitest'
import { countDeadLetters, retryDeadLetters } from '../../../src/faktory/operations/dead-letters.js'
import { purge } from '../../../src/faktory/operations/purge.js'
import { newName, ownFaktory, sharedFaktory } from '../../fixtures/faktory.js'
import { failure } from '../../fixtures/support.js'

const faktory = sharedFaktory()

/** Pushes a job that dies of its first failure, and lets it fail. */
const kill = async (queue: string, args: unknown[] = []): Promise<string> => {
  const client = await faktory.connect()
  const jid = newName()
  await client.push({ jid, jobtype: 't', queue, args, retry: -1 })
  await client.fetch(queue)
  await client.ask(`FAIL ${JSON.stringify({ jid, errtype: 'E', message: 'm' })}`)
  return jid
}

describe('purge', () => {
  it('removes what waits, what is scheduled and what is to be retried, of one queue', async () => {
    const queue = faktory.newQueue()
    const other = faktory.newQueue()
    const client = await faktory.connect()
    const at = '2999-01-01T00:00:00Z'
    for (const name of [queue, other]) {
      await client.push({ jid: newName(), jobtype: 't', queue: name, args: [{ jid: 'x', jobtype: 'y', queue }], retry: 25 })
      await client.push({ jid: newName(), jobtype: 't', queue: name, args: [{ jid: 'x', jobtype: 'y', queue }], retry: 25, at })
    }
    expect(await purge({ url: faktory.url, queue })).toEqual({ removed: 2 })
    const { queues } = (await client.info()).faktory
    expect(queues).toMatchObject({ [other]: 1 })
    expect(queues[queue]).toBeUndefined()
    expect(await purge({ url: faktory.url, queue: other })).toEqual({ removed: 2 })
  })

  it('leaves what is delayed where it is asked to', async () => {
    const queue = faktory.newQueue()
    const client = await faktory.connect()
    await client.push({ jid: newName(), jobtype: 't', queue, args: [], retry: 25 })
    await client.push({ jid: newName(), jobtype: 't', queue, args: [], retry: 25, at: '2999-01-01T00:00:00Z' })
    expect(await purge({ url: faktory.url, queue, delayed: false })).toEqual({ removed: 1 })
    expect(await purge({ url: faktory.url, queue })).toEqual({ removed: 1 })
  })

  it('removes the dead jobs of a queue', async () => {
    const [queue, other] = [faktory.newQueue(), faktory.newQueue()]
    await kill(queue)
    await kill(queue)
    const kept = await kill(other)
    expect(await purge({ url: faktory.url, queue, dead: true })).toEqual({ removed: 2 })
    expect(await retryDeadLetters({ url: faktory.url, ids: [kept] })).toEqual({ retried: 1 })
  })

  it('says that there is no such queue', async () => {
    expect(await failure(purge({ url: faktory.url, queue: newName() }))).toMatchObject({
      code: 'ERR_PREFORK_BROKER',
      message: expect.stringContaining('nothing was ever pushed to it'),
    })
  })
})

describe('the dead set', () => {
  it('is counted, and put back by queue or by id', async () => {
    const [queue, other] = [faktory.newQueue(), faktory.newQueue()]
    const before = await countDeadLetters({ url: faktory.url })
    const jids = [await kill(queue), await kill(queue), await kill(other, [{ queue }])]
    expect(await countDeadLetters({ url: faktory.url })).toBe(before + 3)
    expect(await retryDeadLetters({ url: faktory.url, queue })).toEqual({ retried: 2 })
    expect(await retryDeadLetters({ url: faktory.url, ids: [] })).toEqual({ retried: 0 })
    expect(await retryDeadLetters({ url: faktory.url, ids: [jids[2]!, newName()] })).toEqual({ retried: 1 })
    const client = await faktory.connect()
    expect([(await client.fetch(queue))?.jid, (await client.fetch(queue))?.jid].toSorted()).toEqual(jids.slice(0, 2).toSorted())
    expect((await client.fetch(other))?.jid).toBe(jids[2])
  })

  it('is not found where there is no server', async () => {
    const server = await ownFaktory()
    await server.kill()
    expect(await failure(countDeadLetters({ url: server.url }))).toMatchObject({ code: 'ERR_PREFORK_BROKER', message: expect.stringContaining('ECONNREFUSED') })
  })

  it.each([
    [() => purge({ queue: 'a b' }), "Option 'queue' must be the name of a queue"],
    [() => purge({ ded: true } as never), "did you mean 'dead'?"],
    [() => retryDeadLetters({ queue: 'a', ids: ['b'] }), "Option 'ids' must be absent where 'queue' is named"],
    [() => retryDeadLetters({ ids: [1] } as never), "Option 'ids[0]' must be a job's id"],
    [() => countDeadLetters({ queue: 'a' } as never), "Unknown option 'queue' of countDeadLetters"],
  ])('refuses options: %s', async (run, message) => {
    expect(await failure(run())).toMatchObject({ name: 'TypeError', message: expect.stringContaining(message) })
  })
})
