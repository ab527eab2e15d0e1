/** Several processes on one file: how they share the work, and what they keep to together. */
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../fixtures/until.js'
import { checkRuns, problemLines } from './check-runs.js'
import { Member } from './member.js'
import { ProofFolder } from './proof-folder.js'
import type { ProofReport } from './report.js'

const KEEP = { completed: { count: 1_000_000 } }

const nodeOf = (prefetchPerWorker: number): object => ({ minWorkers: 1, maxWorkers: 1, concurrency: prefetchPerWorker, prefetchPerWorker })

const startMembers = (folder: ProofFolder, count: number): Promise<Member[]> => Promise.all(Array.from({ length: count }, () => Member.start(folder)))

/** Adds so many jobs, a thousand in a transaction. */
const addJobs = async (client: Member, count: number, options: object, ms = 0): Promise<string[]> => {
  const added: string[] = []
  for (let at = 0; at < count; at += 1_000) {
    const bulk = Array.from({ length: Math.min(1_000, count - at) }, () => ({ task: 'nap', args: [ms], options }))
    added.push(...(await client.queue<string[]>('default', 'addBulk', bulk)))
  }
  return added
}

/** Processes that each add jobs and run a node. */
export const crowd = async (processes: number, count: number): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const [client, ...members] = await startMembers(folder, processes + 1)
  await client!.queue('default', 'pause')
  const added = await addJobs(client!, count, { keep: KEEP })
  await Promise.all(members.map((member) => member.call('node', nodeOf(20))))
  await client!.queue('default', 'resume')
  const began = performance.now()
  const worst = Math.max(...(await Promise.all(members.map((member) => member.call<number>('addTimed', 'default', 500, [0, false])))))
  const total = count + 500 * processes
  await until('all has completed', async () => (await client!.queue<{ completed: number }>('default', 'counts')).completed === total, 120_000)
  const seconds = (performance.now() - began) / 1_000
  await until('all is told', () => folder.ids('confirmed').length >= total)
  const { lines } = folder
  const shares = new Map<string, number>()
  for (const { mark, by } of lines) if (mark === 'confirmed') shares.set(by, (shares.get(by) ?? 0) + 1)
  const numbers = [...shares.values()]
  const begun = lines.filter(({ mark }) => mark === 'begun').length
  return {
    figures: {
      processes,
      jobs: total,
      'jobs/s': Math.round(total / seconds),
      'worst add, ms': Math.round(worst),
      shares: numbers.join(' '),
      'largest share : smallest': Math.max(...numbers) / Math.min(...numbers),
    },
    problems: [
      ...(begun === total ? [] : [`${begun} beginnings of ${total} jobs`]),
      ...problemLines(checkRuns({ added, lines, states: folder.states() })),
      ...folder.fileProblems(),
    ],
  }
}

/** Jobs whose time comes at once. */
export const dueAtOnce = async (count: number): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const [client, member] = await Promise.all([Member.start(folder), Member.start(folder, { measure: true })])
  await member.call('node', nodeOf(20))
  const delayMs = 1_500 + count / 10
  const runAt = Date.now() + delayMs
  const added = await addJobs(client, count, { keep: KEEP, runAt })
  const early = folder.ids('begun').length
  const isInTime = Date.now() < runAt
  await member.call('transactions')
  const due = (): Promise<Record<string, number>> => client.queue('default', 'counts')
  await until('all is due', async () => (await due()).delayed === 0)
  await until('all has completed', async () => (await due()).completed === count, 60_000)
  const { longest, count: transactions } = await member.call<{ longest: number; count: number }>('transactions')
  return {
    figures: { jobs: count, transactions, 'longest transaction, ms': Math.round(longest * 10) / 10 },
    problems: [
      ...(early === 0 || !isInTime ? [] : [`${early} jobs began before their time`]),
      ...(transactions > 10 ? [] : [`${transactions} transactions were measured`]),
      ...problemLines(checkRuns({ added, lines: folder.lines, states: folder.states() })),
    ],
  }
}

/** The most starts in any second. */
export const mostInASecond = (times: readonly number[]): number => {
  const sorted = times.toSorted((a, b) => a - b)
  let from = 0
  let most = 0
  sorted.forEach((time, index) => {
    while (time - sorted[from]! >= 1_000) from++
    most = Math.max(most, index - from + 1)
  })
  return most
}

/** A queue that is limited to 10/s, over three processes, beside one without a limit. */
export const limited = async (count: number): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const members = await startMembers(folder, 3)
  const [client] = members
  await client!.queue('limited', 'limit', '10/s')
  await Promise.all(members.map((member) => member.call('node', { ...nodeOf(10), queues: ['limited', 'free'] })))
  const jobs = (name: string, number: number): object[] =>
    Array.from({ length: number }, (_, index) => ({ task: 'nap', args: [0], options: { id: `${name}-${index}` } }))
  const began = performance.now()
  const added = await client!.queue<string[]>('limited', 'addBulk', jobs('limited', count))
  const free = await client!.queue<string[]>('free', 'addBulk', jobs('free', 200))
  await until('all has completed', () => [...folder.states().values()].every((state) => state === 'completed'), 60_000)
  const took = performance.now() - began
  const starts = folder.lines.filter(({ mark }) => mark === 'begun')
  const timesOf = (name: string): number[] => starts.flatMap(({ id, at }) => (id.startsWith(name) ? [at] : []))
  const most = mostInASecond(timesOf('limited'))
  const least = (1_000 * (count - 11)) / 10
  return {
    figures: { processes: 3, jobs: count, 'most starts in a second': most, 'took, ms': Math.round(took) },
    problems: [
      ...(took >= least ? [] : [`${count} jobs took ${Math.round(took)} ms: at 10/s, it is at least ${least}`]),
      ...(Math.max(...timesOf('free')) < Math.max(...timesOf('limited')) ? [] : ['the queue without a limit waited for the other']),
      ...problemLines(checkRuns({ added: [...added, ...free], lines: folder.lines, states: folder.states() })),
    ],
  }
}

/** A queue is paused from another process while a node has claimed more than it runs. It stays so when the node is killed. */
export const paused = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const [client, node] = await startMembers(folder, 2)
  const slow = { ...nodeOf(40), concurrency: 1 }
  await node!.call('node', slow)
  await addJobs(client!, 100, {}, 60)
  await until('some have begun', () => folder.ids('begun').length >= 3)
  await client!.queue('default', 'pause')
  const pausedAt = Date.now()
  await delay(1_500)
  const starts = folder.lines.filter(({ mark, at }) => mark === 'begun' && at > pausedAt)
  const latest = Math.max(0, ...starts.map(({ at }) => at - pausedAt))
  await node!.kill()
  const before = folder.ids('begun').length
  const next = await Member.start(folder)
  await next.call('node', slow)
  await delay(500)
  const settings = await next.queue<{ paused: boolean }>('default', 'settings')
  const after = folder.ids('begun').length
  return {
    figures: { 'last start after the pause, ms': latest, 'starts after the pause': starts.length },
    problems: [
      // A node that is slow to be told begins one or two; what it has claimed takes it seconds.
      ...(latest < 1_000 ? [] : [`${starts.length} jobs began after the pause, the last ${latest} ms after it`]),
      ...(settings.paused ? [] : ['it is not paused after the death of the node']),
      ...(after === before ? [] : [`${after - before} jobs began in a paused queue`]),
    ],
  }
}

/** A busy loop is cancelled from another process. */
export const cancelled = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const [client, node] = await startMembers(folder, 2)
  await client!.call('watch', 'default', 'completed')
  await node!.call('node', { minWorkers: 2, maxWorkers: 2, prefetchPerWorker: 1 })
  await client!.queue('default', 'add', 'nap', [4_000], { id: 'neighbour' })
  await client!.queue('default', 'add', 'spin', [], { id: 'spin' })
  await client!.queue('default', 'add', 'nap', [0], { id: 'dependent', dependsOn: ['spin'] })
  await until('both have begun', () => folder.ids('begun').length === 2)
  const began = performance.now()
  await client!.queue('default', 'cancel', 'spin')
  await until('it is cancelled', () => folder.states().get('spin') === 'cancelled')
  const took = performance.now() - began
  await until('its neighbour has completed', () => folder.states().get('neighbour') === 'completed')
  await until('the event has come', async () => (await client!.call<string[]>('heard', 'completed')).includes('neighbour'))
  const told = await client!.call<string[]>('heard', 'completed')
  const begun = folder.ids('begun')
  const states = folder.states()
  return {
    figures: { 'cancelled after, ms': Math.round(took) },
    problems: [
      ...(begun.length === 2 ? [] : [`runs: ${begun.join(' ')}`]),
      ...(states.get('dependent') === 'failed' ? [] : [`the dependent is ${states.get('dependent')}`]),
      ...(told.join(' ') === 'neighbour' ? [] : [`told as completed: ${told.join(' ')}`]),
      ...folder.fileProblems(),
    ],
  }
}

/** Jobs that are about to end are cancelled from another process. What the cancellation has named does not complete any more. */
export const cancelledAtTheEnd = async (count: number): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const [client, node] = await startMembers(folder, 2)
  await client!.call('watch', 'default', 'completed')
  await node!.call('node', { ...nodeOf(count), minWorkers: 1 })
  const bulk = Array.from({ length: count }, (_, index) => ({ task: 'nap', args: [400 + 10 * index], options: { id: `job-${index}` } }))
  const ids = await client!.queue<string[]>('default', 'addBulk', bulk)
  await until('all have begun', () => folder.ids('begun').length === count)
  await until('the first has completed', async () => (await client!.call<string[]>('heard', 'completed')).length > 0)
  const named = await client!.queue<string[]>('default', 'cancel', ids)
  await until('all has ended', () => [...folder.states().values()].every((state) => state === 'completed' || state === 'cancelled'))
  const states = folder.states()
  const told = await client!.call<string[]>('heard', 'completed')
  const completed = named.filter((id) => states.get(id) !== 'cancelled' || told.includes(id))
  return {
    figures: { jobs: count, 'named by the cancellation': named.length, 'of these completed': completed.length },
    problems: [
      ...(named.length > 0 ? [] : ['nothing was left to cancel']),
      ...(completed.length === 0 ? [] : [`completed after they were cancelled: ${completed.length} of ${named.length}`]),
      ...folder.fileProblems(),
    ],
  }
}

/** The time of a job passes while there is no worker. */
export const expired = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const client = await Member.start(folder)
  await client.queue('default', 'add', 'nap', [0], { id: 'a', ttl: 300 })
  const code = await client.call('result', 'default', 'a', { timeout: 10_000 }).catch((error: { code?: string }) => error.code)
  await client.queue('default', 'add', 'nap', [0], { id: 'b' })
  await client.call('node', nodeOf(1))
  await until('the other has completed', () => folder.states().get('b') === 'completed')
  const begun = folder.ids('begun')
  const state = folder.states().get('a')
  return {
    figures: { code, state },
    problems: code === 'ERR_PREFORK_EXPIRED' && state === 'expired' && begun.join() === 'b' ? [] : [`${code}, ${state}, runs: ${begun.join(' ')}`],
  }
}
