/** Two nodes and many jobs, while workers and nodes are killed, connections are cut and the server is restarted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { FAKTORY_URL, newName, RawClient } from '../fixtures/faktory.js'
import { FaktoryServerProcess } from '../fixtures/faktory-server/child.js'
import { blockHost, childrenOf, Journal, scratch, until } from '../fixtures/support.js'
import { type NodeProcess, startNodeProcess } from './node-process.js'
import { lineProxy } from './worker/line-proxy.js'
import { nodeOn, push } from './worker/nodes.js'

const JOBS = 10_000

/** The shortest reservation of the stand-in is a tenth of that of a real server: what a dead node held comes back after 6 s. */
const CLOCKS = { reserveSecond: 100, retrySecond: 100, scan: 300, reap: 300 }

const startServer = async (): Promise<FaktoryServerProcess> => {
  const server = await FaktoryServerProcess.start({ file: `${scratch()}/jobs.json`, clocks: CLOCKS })
  onTestFinished(() => server.stop('SIGKILL'))
  return server
}

const connect = async (url: string): Promise<RawClient> => {
  const client = await RawClient.connect(url)
  onTestFinished(() => client.close())
  return client
}

const pushMany = async (client: RawClient, queue: string, count: number, argsOf: (index: number) => unknown[]): Promise<void> => {
  for (let from = 0; from < count; from += 1_000) {
    const jobs = Array.from({ length: Math.min(1_000, count - from) }, (_, index) => ({
      ...{ jid: `${queue}-${from + index}`, jobtype: 'nap', args: argsOf(from + index), queue, retry: 25, reserve_for: 60 },
    }))
    expect(await client.ask(`PUSHB ${JSON.stringify(jobs)}`)).toBe('{}')
  }
}

/** How often each job began. */
const beginnings = (journal: Journal): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const line of journal.lines) if (line.startsWith('+')) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

it('nothing vanishes, whatever is killed; a job runs again only if it had begun', { timeout: 300_000 }, async () => {
  // The server of somebody else is not restarted.
  const server = FAKTORY_URL === undefined ? await startServer() : undefined
  const url = FAKTORY_URL ?? server!.url
  const proxy = await lineProxy(url)
  const queue = newName()
  const journal = new Journal()
  await pushMany(await connect(url), queue, JOBS, (index) => [1, journal.path, index])
  const start = (): Promise<NodeProcess> => startNodeProcess({ url: proxy.url, queue, minWorkers: 2, maxWorkers: 2, concurrency: 4, reserveMargin: 1_000 })
  let [first, second] = await Promise.all([start(), start()])
  onTestFinished(() => {
    first.kill()
    second.kill()
  })
  const ended = (): number => journal.lines.filter((line) => line.startsWith('-')).length
  const workerOf = ({ pid }: NodeProcess): number | undefined => childrenOf(pid).find(({ zombie }) => !zombie)?.pid
  await until('some have run', () => ended() > 500, 60_000)
  for (let round = 0; round < 3; round++) {
    const pid = workerOf(first)
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    await sleep(200)
    proxy.cut()
    await sleep(300)
  }
  first.kill()
  await server?.stop()
  await sleep(200)
  await server?.start()
  first = await start()
  const client = await connect(url)
  const retry = `MUTATE ${JSON.stringify({ cmd: 'requeue', target: 'retries', filter: { regexp: `*"queue":"${queue}"*` } })}`
  const done = (): number => new Set(journal.lines.filter((line) => line.startsWith('-'))).size
  await until(
    'each has run to its end',
    async () => {
      // What a dead node held fails when its reservation ends, and would wait for its retry.
      await client.ask(retry)
      await sleep(300)
      return done() === JOBS
    },
    200_000,
  )
  const counts = beginnings(journal)
  expect(counts.size).toBe(JOBS)
  const again = [...counts.values()].filter((count) => count > 1).length
  // What was running or reported at a fault: far less than the jobs.
  expect(again).toBeLessThan(400)
  expect(await Promise.all([first.stop(), second.stop()])).toEqual([expect.objectContaining({ killed: 0 }), expect.objectContaining({ killed: 0 })])
  // What another run of a job reports is no error, and no reservation is left.
  if (server !== undefined) await until('nothing is reserved', async () => (await client.info()).faktory.sets.working === 0)
})

it('two nodes that are stopped in the middle leave no reservation, and each job runs once', { timeout: 120_000 }, async () => {
  const url = FAKTORY_URL ?? (await startServer()).url
  const queue = newName()
  const client = await connect(url)
  const journal = new Journal()
  await pushMany(client, queue, 3_000, (index) => [1, journal.path, index])
  const start = (): Promise<NodeProcess> => startNodeProcess({ url, queue, minWorkers: 1, maxWorkers: 1, concurrency: 5 })
  const nodes = await Promise.all([start(), start()])
  await until('some have run', () => journal.lines.length > 500, 60_000)
  const reports = await Promise.all(nodes.map((node) => node.stop()))
  expect(reports).toEqual(nodes.map(() => ({ clean: true, requeued: 0, killed: 0 })))
  const ran = beginnings(journal)
  expect([...ran.values()].every((count) => count === 1)).toBe(true)
  // Each job is in the queue, or has run.
  expect(((await client.info()).faktory.queues[queue] ?? 0) + ran.size).toBe(3_000)
  await client.ask(`QUEUE REMOVE ${queue}`)
})

it('a host that is blocked for 90 s is announced again, and its jobs run once', { timeout: 180_000 }, async () => {
  const url = FAKTORY_URL ?? (await startServer()).url
  const queue = newName()
  const { node, wid } = await nodeOn(url, { queues: [queue] })
  const client = await connect(url)
  const journal = new Journal()
  for (let index = 0; index < 3; index++) await push(client, queue, 'nap', [2_000, journal.path, index], { reserve_for: 1_800 })
  await until('they run', () => node.stats().running === 3)
  blockHost(90_000)
  await until('they are acknowledged', () => node.stats().totals.succeeded === 3)
  const again = await connect(url)
  await push(again, queue, 'mark', [journal.path, 'after'])
  await journal.seen('after')
  expect(journal.lines.filter((line) => line.startsWith('+'))).toHaveLength(3)
  // The server answers no other worker so.
  expect(await again.ask(`BEAT ${JSON.stringify({ wid })}`)).toBe('OK')
})
