/** Shutdowns in a row, rolling restarts and poison messages, under load. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'amqplib'
import { createControlClient, createPublisher, listDeadLetters } from '../../src/amqp/index.js'
import { until } from '../fixtures/until.js'
import { Journal } from './journal.js'
import { NodeProcess } from './node-process.js'
import { randomOf, WORKERS } from './plan.js'
import { newRecord } from './record.js'

/** The grace of each shutdown, ms. Some jobs take longer. */
const GRACE = 1_000
/** ms that a shutdown may take beyond the grace. */
const ALLOWED = 2_000
const LONG_JOB = 3_000
const MAX_OPEN = 150
const POISONS = 20
const RESTARTS = 5

export interface ShutdownsReport {
  readonly shutdowns: number
  readonly jobs: number
  readonly 'longest shutdown, ms': number
  readonly 'median shutdown, ms': number
  readonly 'given back unbegun': number
  readonly 'killed when the grace was over': number
  readonly 'dead letters: killed by 3 shutdowns': number
  readonly 'ended twice': number
  readonly 'rolling restarts under load': number
  readonly 'jobs meanwhile, each begun once': number
  readonly 'poison to dead letter, median ms': number
  readonly 'poison to dead letter, longest ms': number
  readonly violations: string[]
}

const median = (values: readonly number[]): number => Math.round(values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN)

export const runShutdowns = async (shutdowns: number, url: string, log: (line: string) => void): Promise<ShutdownsReport> => {
  const directory = mkdtempSync(join(tmpdir(), 'prefork-farm-soak-'))
  const path = join(directory, 'journal')
  const journal = new Journal(path)
  const queue = `soak.${randomBytes(6).toString('hex')}`
  const exchanges = { controlExchange: `${queue}.control`, eventExchange: `${queue}.events` }
  const record = newRecord()
  const options = { url, queue, ...exchanges, minWorkers: WORKERS, maxWorkers: WORKERS, concurrency: 5, prefetchPerWorker: 5, shutdownGrace: GRACE }
  const env = { ...process.env, PREFORK_SOAK_JOURNAL: path }
  const violations: string[] = []
  const random = randomOf(1)
  const publisher = await createPublisher({ url, queue })
  const ids: string[] = []
  const ended = (): number => journal.update().ended.size
  let nodes = 0
  const newNode = async (): Promise<NodeProcess> => {
    const node = new NodeProcess(nodes++, options, env, record)
    node.start()
    await until('the node is up', () => node.up, 60_000)
    return node
  }
  let node: NodeProcess | undefined
  let publishing = true
  let poisons = 0
  /** Keeps the queue filled. `long`: the share of jobs that take longer than the grace. */
  const load = async (long: number): Promise<void> => {
    while (publishing) {
      for (let open = ids.length - ended(); open < MAX_OPEN; open++) {
        const id = `job-${ids.length}`
        ids.push(id)
        await publisher.publish('nap', [random.chance(long) ? LONG_JOB : random.int(0, 200)], { messageId: id })
      }
      await delay(50)
    }
  }
  const allEnded = async (): Promise<Set<string>> => {
    let dead = new Set<string>()
    await until(
      'every job has ended',
      async () => {
        dead = new Set((await listDeadLetters({ url, queue, limit: 10_000 })).flatMap(({ id }) => id ?? []))
        const done = journal.update().ended
        return ids.every((id) => dead.has(id) || done.has(id))
      },
      120_000,
    ).catch((error: Error) => violations.push(`${error.message}`))
    return dead
  }
  try {
    // ---- shutdowns
    let loading = load(0.02)
    const times: number[] = []
    let requeued = 0
    let killed = 0
    for (let n = 1; n <= shutdowns; n++) {
      node = await newNode()
      const { pid } = node
      await until('it is at work', () => [...journal.update().runs.values()].flat().filter((run) => run.node === pid).length > 10, 60_000)
      await delay(random.int(0, 300))
      const began = performance.now()
      const down = await node.shutdown()
      const took = performance.now() - began
      times.push(took)
      if (down === undefined) violations.push(`shutdown ${n}: the node ended without a report`)
      requeued += down?.requeued ?? 0
      killed += down?.killed ?? 0
      if (took > GRACE + ALLOWED) violations.push(`shutdown ${n} took ${Math.round(took)} ms, with a grace of ${GRACE} ms`)
      if (n % 10 === 0) log(`${n} shutdowns, the longest ${Math.round(Math.max(...times))} ms, ${ended()} jobs ended`)
    }
    publishing = false
    await loading
    node = await newNode()
    const dead = await allEnded()
    const { runs } = journal.update()
    const endedTwice = ids.filter((id) => (runs.get(id) ?? []).filter(({ end }) => end !== undefined).length > 1)
    for (const id of endedTwice) violations.push(`ended twice: ${id} ${JSON.stringify(runs.get(id))}`)
    for (const id of dead) if ((runs.get(id) ?? []).length < 3) violations.push(`dead, and began less than 3 times: ${id}`)
    const jobs = ids.length
    // ---- rolling restarts
    publishing = true
    loading = load(0)
    const operator = await createControlClient({ url, ...exchanges })
    for (let n = 0; n < RESTARTS; n++) {
      const before = new Set(node.workers)
      for await (const answer of operator.ask('all', { command: 'restart' }, { timeout: 500 })) if (!answer.ok) violations.push(`restart: ${answer.error}`)
      await until('every worker is another', () => node!.workers.length === WORKERS && node!.workers.every((pid) => !before.has(pid)), 60_000)
    }
    publishing = false
    await loading
    await operator.close()
    await allEnded()
    const after = journal.update().runs
    for (const id of ids.slice(jobs)) if (after.get(id)?.length !== 1) violations.push(`a rolling restart: ${id} began ${after.get(id)?.length} times`)
    // ---- poison
    const durations: number[] = []
    const connection = await connect(url)
    const channel = await connection.createChannel()
    let deadBefore = (await channel.checkQueue(`${queue}.dlq`)).messageCount
    for (; poisons < POISONS; poisons++) {
      await until('both workers are up', () => node!.workers.length === WORKERS, 60_000)
      const began = performance.now()
      await publisher.publish('poison', [0], { messageId: `poison-${poisons}` })
      await until('it is dead', async () => (await channel.checkQueue(`${queue}.dlq`)).messageCount > deadBefore)
      durations.push(performance.now() - began)
      deadBefore++
      await delay(1_500)
    }
    const left = (await channel.checkQueue(queue)).messageCount
    if (left > 0) violations.push(`${left} jobs are left in the queue`)
    await connection.close()
    if (median(durations) >= 1_000) violations.push(`poison took ${median(durations)} ms to the dead letters`)
    return {
      shutdowns,
      jobs,
      'longest shutdown, ms': Math.round(Math.max(...times)),
      'median shutdown, ms': median(times),
      'given back unbegun': requeued,
      'killed when the grace was over': killed,
      'dead letters: killed by 3 shutdowns': dead.size,
      'ended twice': endedTwice.length,
      'rolling restarts under load': RESTARTS,
      'jobs meanwhile, each begun once': ids.length - jobs,
      'poison to dead letter, median ms': median(durations),
      'poison to dead letter, longest ms': Math.round(Math.max(...durations)),
      violations: [...violations, ...record.errors],
    }
  } finally {
    publishing = false
    node?.terminate()
    await publisher.close().catch(() => {})
    journal.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
