/** What the command line gives a dashboard to read and retry dead letters with. */
import { expect, test } from 'vitest'
import type { DeadLetter, Farm } from '../../src/cli/farm.js'
import { deadLettersOf } from '../../src/cli/operations/dead-letters.js'
import type { BrokerSettings } from '../../src/cli/settings/broker.js'

const letter = (id: string, queue: string): DeadLetter => ({
  ...{ id, task: 'mail', args: ['a@b.c', { password: 'hush' }], queue, reason: 'failed', error: 'Error: no', stack: undefined, at: 1, node: 'n' },
  ...{ attempts: [], attempt: 3, losses: 0, requeues: 0 },
})

const start = (flags: Parameters<typeof deadLettersOf>[2], more: Partial<Farm> = {}) => {
  const asked: unknown[] = []
  const farm = {
    async listDeadLetters(_broker: BrokerSettings, queue: string, { limit }: { limit: number }) {
      asked.push(['list', queue, limit])
      return [letter(`${queue}-1`, queue), letter(`${queue}-2`, queue)].slice(0, limit)
    },
    async retryDeadLetters(_broker: BrokerSettings, queue: string, options: object) {
      asked.push(['retry', queue, options])
      return 2
    },
    ...more,
  } as Partial<Farm> as Farm
  return { letters: deadLettersOf(farm, { queues: ['own'] } as Partial<BrokerSettings> as BrokerSettings, flags), asked }
}

test('they are read from the queues of the nodes, up to the limit, with their arguments as text without passwords', async () => {
  const { letters, asked } = start({})
  expect(await letters.read(['a', 'b', 'c'], 3)).toMatchObject([
    { id: 'a-1', queue: 'a', arguments: '["a@b.c", {"password": "***"}]' },
    { id: 'a-2' },
    { id: 'b-1' },
  ])
  expect(asked).toEqual([
    ['list', 'a', 3],
    ['list', 'b', 1],
  ])
  expect(JSON.stringify(await letters.read(['a'], 1))).not.toContain('hush')
})

test('without nodes, or with --queue, from the queues of the command line; with --no-arguments without arguments', async () => {
  const bare = start({ arguments: false })
  expect(await bare.letters.read([], 1)).toMatchObject([{ id: 'own-1', arguments: undefined }])
  const typed = start({ queue: ['own'] })
  expect(await typed.letters.read(['a'], 1)).toMatchObject([{ id: 'own-1' }])
})

test('they are retried by id or all, in each queue', async () => {
  const { letters, asked } = start({})
  expect([await letters.retry(['a'], ['a-1']), await letters.retry(['a', 'b'], 'all')]).toEqual([2, 4])
  expect(asked).toEqual([
    ['retry', 'a', { ids: ['a-1'] }],
    ['retry', 'a', {}],
    ['retry', 'b', {}],
  ])
})

test('a broker that cannot list them tells how many there are', async () => {
  const { letters } = start({}, { countDeadLetters: async () => 12 })
  expect(await letters.read(['a'], 9)).toBe(12)
})

test('reads and retries wait for each other: a broker lends a dead letter to one reader at a time; a failure holds up none', async () => {
  let isBusy = false
  const alone = async <T>(value: T): Promise<T> => {
    if (isBusy) throw new Error('another reader has them')
    isBusy = true
    await new Promise((resolve) => setImmediate(resolve))
    isBusy = false
    return value
  }
  const { letters } = start(
    {},
    {
      listDeadLetters: async (_broker, queue) => {
        const found = await alone([letter('a-1', queue)])
        if (queue === 'broken') throw new Error('the queue was deleted')
        return found
      },
      retryDeadLetters: () => alone(1),
    },
  )
  const [broken, read, retried, again] = await Promise.allSettled([
    letters.read(['broken'], 9),
    letters.read(['a'], 9),
    letters.retry(['a'], 'all'),
    letters.read(['a'], 9),
  ])
  expect(broken).toMatchObject({ status: 'rejected', reason: { message: 'the queue was deleted' } })
  expect(read).toMatchObject({ value: [{ id: 'a-1' }] })
  expect(retried).toMatchObject({ value: 1 })
  expect(again).toMatchObject({ value: [{ id: 'a-1' }] })
})
