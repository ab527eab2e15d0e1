/** `prefork publish` to a queue in a file: its options, and what it says of a job without a result. The queue is in memory. */
import { expect, onTestFinished, test } from 'vitest'
import { queueFarm } from '../../src/cli/operations/queue-file.js'
import { commandLine } from './command-line.js'

let stores = 0

/** A command line whose jobs go to a queue in memory. */
const start = () => {
  const url = `memory:publish-${++stores}`
  const open = (): ReturnType<typeof queueFarm.createPublisher> => queueFarm.createPublisher({ url, queues: ['q'] } as never, { timeout: 60_000 })
  const line = commandLine({ env: { RABBITMQ_URL: 'sqlite:./jobs.db' }, farm: { createPublisher: open } })
  // The store lives for as long as one is open.
  const opened = open()
  onTestFinished(async () => await (await opened).close())
  const jobs = () =>
    queueFarm.withQueue!({ url } as never, 'q', async (queue) => Promise.all((await queue.jobs()).map(async ({ id }) => (await queue.job(id))!.details())))
  return { ...line, jobs }
}

test('takes what the queue takes', async () => {
  const { run, jobs } = start()
  expect(await run('publish', 'add', '--priority', '-1000000', '--delay', '40d', '--ttl', '100d')).toBe(0)
  const [job] = await jobs()
  expect(job).toMatchObject({ priority: -1_000_000, state: 'delayed' })
  expect(job!.runAt! - job!.createdAt).toBeGreaterThan(39 * 86_400_000)
  expect(job!.expiresAt! - job!.createdAt).toBeGreaterThan(99 * 86_400_000)
})

test.each([
  [['--priority', '-1000001'], /--priority must be a whole number from -1000000 to 1000000; it was given '-1000001'/],
  [['--delay', '12000000d'], /--delay must be a time of at least 0, .*, at most 11574074 days/],
])('refuses %j', async (typed, text) => {
  const { run, stderr } = start()
  expect(await run('publish', 'add', ...typed)).toBe(2)
  expect(stderr.text).toMatch(text)
})

test('--wait says what is known of a job that has no result in time', async () => {
  const { run, stderr, jobs } = start()
  expect(await run('publish', 'add', '--wait', '--timeout', '50ms')).toBe(5)
  const [job] = await jobs()
  expect(stderr.text).toBe(
    `prefork: No answer within 0.05 s. The job goes on; it is waiting now. Is a node at work on this queue? prefork queue show ${job!.id} tells more; --timeout 5m waits longer.\n`,
  )
})
