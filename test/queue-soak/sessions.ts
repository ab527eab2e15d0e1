/** What becomes of the jobs of a node that dies, stands still, cannot write, or whose wall clock is moved. */
import { setTimeout as delay } from 'node:timers/promises'
import { freeze } from '../fixtures/support.js'
import { until } from '../fixtures/until.js'
import { checkRuns, problemLines } from './check-runs.js'
import { Member, type MemberSettings } from './member.js'
import { ProofFolder } from './proof-folder.js'
import { type ProofReport, percentile } from './report.js'

/** ms; default of the store is 30 s. */
const LEASE = 1_500

const nodeOf = (prefetchPerWorker: number, workers = 1): object => ({
  minWorkers: workers,
  maxWorkers: workers,
  concurrency: prefetchPerWorker,
  prefetchPerWorker,
  maxLosses: 3,
})

const begun = (folder: ProofFolder, count: number): Promise<boolean> => until(`${count} runs have begun`, () => folder.ids('begun').length >= count)

const counted = (ids: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

const twice = (ids: readonly string[], what: string): string[] =>
  [...counted(ids)].flatMap(([id, count]) => (count > 1 ? [`${what} ${count} times: ${id}`] : []))

const sessionIds = (folder: ProofFolder): unknown =>
  folder.sql((database) =>
    database
      .prepare("SELECT id FROM session WHERE name <> '' ORDER BY id")
      .all()
      .map(({ id }) => id),
  )

const storedBeginnings = (folder: ProofFolder): number =>
  folder.sql((database) => Number(database.prepare('SELECT count(*) AS n FROM job WHERE state = 2 AND begun = 1').get()!.n))

/** A process that is stopped in the middle of a transaction keeps the lock: nobody could write until it goes on. */
const freezeUnlocked = async (member: Member, folder: ProofFolder): Promise<void> => {
  await freeze(member.pid)
  while (!folder.isWritable()) {
    member.signal('SIGCONT')
    await delay(20)
    await freeze(member.pid)
  }
}

const jobs = (task: string, args: readonly unknown[], count: number, name: string): object[] =>
  Array.from({ length: count }, (_, index) => ({ task, args, options: { id: `${name}-${index}` } }))

/** What a poison job kills. 'at once': before its beginning can be stored, as a rule. */
const POISONS = { worker: 'poison', node: 'poisonNode', 'worker at once': 'poisonAtOnce', 'node at once': 'poisonNodeAtOnce' } as const

/** Beginnings of a job that may be lost, for it kills its nodes at once. */
const UNSTORED = 2

/** More nodes than a job may take with it. */
const MAX_NODES = 30

/** A job that kills each worker, or each node, which runs it, beside 100 that do no harm and of which 20 run at once. */
export const poison = async (kills: keyof typeof POISONS, longest = 1): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const client = await Member.start(folder)
  const id = 'poison'
  await client.queue('default', 'addBulk', [
    ...jobs('nap', [longest], 10, 'before'),
    { task: POISONS[kills], args: [], options: { id } },
    ...jobs('nap', [longest], 90, 'after'),
  ])
  let nodes = 0
  const over = (): boolean => [...folder.states().values()].every((state) => state === 'completed' || state === 'failed')
  while (!over() && nodes < MAX_NODES) {
    nodes++
    const node = await Member.start(folder)
    await node.call('node', nodeOf(20)).catch((error: unknown) => {
      if (!node.hasExited) throw error
    })
    await until('all has ended, or the node', () => over() || node.hasExited)
    await node.kill()
  }
  const states = folder.states()
  const ended = folder.sql((database) => ({ ...database.prepare('SELECT reason, losses, requeues FROM job WHERE id = ?').get(id) }))
  const innocents = [...states].filter(([other]) => other !== id)
  const dead = innocents.filter(([, state]) => state !== 'completed')
  const beginnings = counted(folder.ids('begun')).get(id) ?? 0
  // From the third death on, what may have ended its nodes runs alone, and its beginning is stored before.
  const most = kills === 'node at once' ? UNSTORED + 3 : kills === 'worker at once' ? Number.POSITIVE_INFINITY : 3
  const isLost = ended.reason === 'lost' && ended.losses === 3 && beginnings <= most && (beginnings >= 3 || kills === 'worker at once')
  const worst = folder.sql((database) => database.prepare("SELECT max(requeues) AS n FROM job WHERE id <> 'poison'").get()!.n) as number
  return {
    figures: {
      nodes,
      'beginnings of the poison': beginnings,
      'losses of the poison': Number(ended.losses),
      'innocents completed': innocents.length - dead.length,
      'returns of an innocent, at most': worst,
    },
    problems: [
      ...(states.get(id) === 'failed' && isLost ? [] : [`the poison is ${states.get(id)} after ${beginnings} beginnings: ${JSON.stringify(ended)}`]),
      ...dead.map(([other, state]) => `${other} is ${state}`),
      ...folder.fileProblems(),
    ],
  }
}

/** A node with 60 running jobs is stopped for two leases, and goes on: half of its runs have ended meanwhile, half go on. */
export const stopped = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const [client, first, second] = await Promise.all([Member.start(folder), Member.start(folder, { lease: LEASE }), Member.start(folder, { lease: LEASE })])
  await client.call('watch', 'default', 'completed')
  await first.call('node', nodeOf(60))
  const added = await client.queue<string[]>('default', 'addBulk', [...jobs('nap', [1_000], 30, 'short'), ...jobs('longUnlessLost', [60_000], 30, 'long')])
  await begun(folder, 60)
  await until('all have begun in the store', () => storedBeginnings(folder) === 60)
  await freezeUnlocked(first, folder)
  await second.call('node', nodeOf(60))
  const allDone = (): boolean => [...folder.states().values()].every((state) => state === 'completed')
  await until('all has run elsewhere', allDone)
  await delay(2 * LEASE)
  const continued = Date.now()
  first.signal('SIGCONT')
  await until('the first copies have ended', () => folder.ids('aborted').length === 30)
  const longest = Math.max(...folder.lines.filter(({ mark }) => mark === 'aborted').map(({ at }) => at)) - continued
  const stats = (): Promise<{ held: number; totals: { refused: number; succeeded: number } }> => first.call('stats')
  await until('the first node holds nothing', async () => (await stats()).held === 0)
  const { totals } = await stats()
  const told = await client.call<string[]>('heard', 'completed')
  return {
    figures: { 'first copies ended after, ms': longest, refused: totals.refused, 'events completed': told.length },
    problems: [
      ...(totals.succeeded === 0 ? [] : [`the first node has told ${totals.succeeded} jobs as succeeded`]),
      ...(new Set(told).size === 60 ? [] : [`${new Set(told).size} jobs were told as completed`]),
      ...twice(told, 'told as completed'),
      ...problemLines(checkRuns({ added, lines: folder.lines, states: folder.states() })),
      ...folder.fileProblems(),
    ],
  }
}

/** Somebody holds the lock of the file for two leases, while jobs run that end meanwhile. */
export const locked = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const settings = { lease: LEASE }
  const [client, ...nodes] = await Promise.all([Member.start(folder), Member.start(folder, settings), Member.start(folder, settings)])
  await Promise.all(nodes.map((node) => node.call('node', nodeOf(10))))
  const added = await client!.queue<string[]>('default', 'addBulk', jobs('nap', [LEASE], 20, 'job'))
  await begun(folder, 20)
  // Longer than a beat: what has begun is stored.
  const before = sessionIds(folder)
  await Promise.all(nodes.map((node) => node.call('loopDelay')))
  await folder.locked(2 * LEASE)
  const late = await Promise.all(nodes.map((node) => node.call<number>('loopDelay')))
  await until('all has completed', () => [...folder.states().values()].every((state) => state === 'completed'))
  // Whoever wanted to take a session for dead would do it now.
  await delay(2 * LEASE)
  const after = sessionIds(folder)
  return {
    figures: { 'loop of the host, p99 ms': Math.round(Math.max(...late)) },
    problems: [
      ...(JSON.stringify(before) === JSON.stringify(after) ? [] : [`sessions ${JSON.stringify(before)} before, ${JSON.stringify(after)} after`]),
      ...twice(folder.ids('begun'), 'begun'),
      ...problemLines(checkRuns({ added, lines: folder.lines, states: folder.states() })),
    ],
  }
}

const HOUR = 3_600_000

/** The wall clock is set by an hour, forward and back, while jobs run and others are delayed. */
export const clockMoved = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const settings = { lease: LEASE }
  const members = await Promise.all([Member.start(folder), Member.start(folder, settings), Member.start(folder, settings)])
  const [client, ...nodes] = members
  await Promise.all(nodes.map((node) => node.call('node', nodeOf(10))))
  const DELAY = 6 * LEASE
  const delayedAt = performance.now()
  const added = await client.queue<string[]>('default', 'addBulk', [
    ...jobs('nap', [5 * LEASE], 10, 'running'),
    { task: 'nap', args: [0], options: { id: 'delayed', delay: DELAY } },
  ])
  await begun(folder, 10)
  const before = sessionIds(folder)
  for (const move of [HOUR, -2 * HOUR]) {
    await Promise.all(members.map((member) => member.call('moveClock', move)))
    await delay(2 * LEASE)
    if (folder.ids('begun').includes('delayed')) break
  }
  const early = performance.now() - delayedAt < DELAY && folder.ids('begun').includes('delayed')
  const after = sessionIds(folder)
  await until('all has completed', () => [...folder.states().values()].every((state) => state === 'completed'), DELAY + 20_000)
  return {
    figures: { 'the delayed job ended after, ms': Math.round(performance.now() - delayedAt), delay: DELAY },
    problems: [
      ...(JSON.stringify(before) === JSON.stringify(after) ? [] : [`sessions ${JSON.stringify(before)} before, ${JSON.stringify(after)} after`]),
      ...(early ? ['the delayed job ran too early'] : []),
      ...twice(folder.ids('begun'), 'begun'),
      ...problemLines(checkRuns({ added, lines: folder.lines, states: folder.states() })),
    ],
  }
}

/** How soon the 20 running jobs of a node that is killed begin elsewhere. */
export const restarts = async (rounds: number, settings: MemberSettings = {}): Promise<ProofReport> => {
  const times: number[] = []
  const problems: string[] = []
  for (let round = 0; round < rounds; round++) {
    await using folder = new ProofFolder()
    const [first, second] = await Promise.all([Member.start(folder, settings), Member.start(folder, settings)])
    await first.call('node', nodeOf(20))
    const added = await first.queue<string[]>('default', 'addBulk', jobs('longUnlessLost', [60_000], 20, 'job'))
    await begun(folder, 20)
    await second.call('node', nodeOf(20))
    // The beginnings are stored.
    await until('all have begun in the store', () => storedBeginnings(folder) === 20)
    const killed = Date.now()
    await first.kill()
    await until('all has completed', () => [...folder.states().values()].every((state) => state === 'completed'))
    const { lines } = folder
    times.push(...lines.filter(({ mark, at }) => mark === 'begun' && at >= killed).map(({ at }) => at - killed))
    problems.push(...problemLines(checkRuns({ added, lines, states: folder.states() })), ...folder.fileProblems())
  }
  return {
    figures: { jobs: times.length, 'begun elsewhere, p50 ms': percentile(times, 0.5), 'p95 ms': percentile(times, 0.95), 'worst ms': Math.max(...times) },
    problems,
  }
}
