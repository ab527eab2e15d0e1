/** Nodes, producers and schedulers that are killed by SIGKILL, and what the store and the journal say afterwards. */
import { setTimeout as delay } from 'node:timers/promises'
import type { JobState } from '../../src/queue/store/store.js'
import type { Random } from '../farm-soak/plan.js'
import { until } from '../fixtures/until.js'
import { checkRuns, problemLines } from './check-runs.js'
import { Member } from './member.js'
import { ProofFolder } from './proof-folder.js'
import type { ProofReport } from './report.js'

/** The journal and the states are to tell of every job. */
const KEEP = { completed: { count: 1_000_000 }, failed: { count: 1_000_000 } }

const NODE = { minWorkers: 1, maxWorkers: 1, concurrency: 15, prefetchPerWorker: 15, maxLosses: 100, backoff: { kind: 'fixed', delay: 5 } }

const countsOf = (client: Member): Promise<Record<JobState, number>> => client.queue('default', 'counts')

/** Jobs that are added at once. */
const CHUNK = 250

export interface NodeKills {
  readonly kills: number
  readonly jobs: number
  readonly random: Random
}

/** One or two nodes are killed over and over while jobs are added. One job in seven fails once. */
export const killNodes = async ({ kills, jobs, random }: NodeKills): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const client = await Member.start(folder)
  const began = performance.now()
  const added: string[] = []
  let killed = 0
  const add = async (): Promise<void> => {
    while (added.length < jobs) {
      // Each life of a node finds something to do.
      if (added.length >= (jobs * (killed + 3)) / kills) {
        await delay(5)
        continue
      }
      const count = Math.min(CHUNK, jobs - added.length)
      const chunk = Array.from({ length: count }, (_, index) => {
        const number = added.length + index
        return { task: 'nap', args: [random.int(0, 10), number % 7 === 0], options: { id: `job-${number}`, keep: KEEP } }
      })
      added.push(...(await client.queue<string[]>('default', 'addBulk', chunk)))
    }
  }
  const alive = new Set<Member>()
  const kill = async (member: Member): Promise<void> => {
    if (!alive.delete(member)) return
    killed++
    await member.kill()
    folder.members.delete(member)
  }
  const lives = async (): Promise<void> => {
    while (killed < kills) {
      const member = await Member.start(folder)
      alive.add(member)
      const isUp = member.call('node', NODE).then(
        () => true,
        () => false,
      )
      if (random.chance(0.9)) await isUp
      await delay(random.int(0, 700))
      // A node that does nothing has nothing to lose. At the end there may be no job left.
      await until('a job begins or ends', folder.journalGrows(), 500).catch(() => {})
      await Promise.all([...alive].map((each) => (each === member || random.chance(0.3) ? kill(each) : undefined)))
    }
  }
  await Promise.all([add(), lives(), lives()])
  const last = await Member.start(folder)
  await last.call('node', NODE)
  await until('every job has completed', async () => (await countsOf(client)).completed === jobs, 150_000).catch(() => {})
  await last.call('shutdown')
  const { lines } = folder
  const begun = lines.filter(({ mark }) => mark === 'begun').length
  return {
    figures: { kills: killed, jobs: added.length, runs: begun, seconds: Math.round((performance.now() - began) / 1_000) },
    problems: [...problemLines(checkRuns({ added, lines, states: folder.states() })), ...folder.fileProblems()],
  }
}

export interface ProducerKills {
  readonly kills: number
  /** Jobs of one flow, its root included. */
  readonly flowSize: number
  readonly random: Random
}

/** A producer with 64 adds outstanding is killed over and over. What it was told to be stored is there, and each flow whole or not at all. */
export const killProducers = async ({ kills, flowSize, random }: ProducerKills): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  for (let killed = 0; killed < kills; killed++) {
    const member = await Member.start(folder)
    const before = folder.lines.length
    await member.call('produce', 64, 50, flowSize)
    await until('something is added', () => folder.lines.length > before + 64)
    await delay(random.int(0, 100))
    await member.kill()
    folder.members.delete(member)
  }
  const added = folder.ids('added')
  const problems = checkRuns({ added, lines: folder.lines, states: folder.states(), flowSize }, false)
  return {
    figures: { kills, 'confirmed adds': added.length, 'confirmed flows': folder.ids('flow').length },
    problems: [...problemLines(problems), ...folder.fileProblems()],
  }
}

/** ms between two ticks. */
const TICK = 200

/** Two nodes with schedulers are killed around the ticks of a schedule. Each tick adds one job. */
export const killAroundTicks = async ({ kills, random }: { readonly kills: number; readonly random: Random }): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const client = await Member.start(folder)
  await client.queue('default', 'schedule', 'often', { every: TICK, catchUp: 'all', task: 'nap', args: [0], options: { keep: KEEP } })
  const nextTick = async (): Promise<number> => (await client.queue<{ nextAt: number }[]>('default', 'schedules'))[0]!.nextAt
  const first = await nextTick()
  let killed = 0
  const lives = async (): Promise<void> => {
    while (killed < kills) {
      const member = await Member.start(folder)
      await member.call('node', NODE)
      const toTick = TICK - ((Date.now() - first) % TICK)
      await delay(Math.max(0, toTick + random.int(-8, 12)))
      killed++
      await member.kill()
      folder.members.delete(member)
    }
  }
  await Promise.all([lives(), lives()])
  const last = await Member.start(folder)
  await last.call('node', NODE)
  await until('the ticks are caught up', async () => (await nextTick()) > Date.now())
  await client.queue('default', 'unschedule', 'often')
  await until('all have run', async () => {
    const { waiting, active, delayed } = await countsOf(client)
    return waiting + active + delayed === 0
  })
  await last.call('shutdown')
  const states = folder.states()
  const ticks = [...states.keys()].map((id) => Number(/^often:(\d+)$/.exec(id)?.[1])).sort((a, b) => a - b)
  const expected = ticks.map((_, index) => first + index * TICK)
  const wrong = ticks.filter((tick, index) => tick !== expected[index])
  return {
    figures: { kills: killed, ticks: ticks.length },
    problems: [
      // An id that names no tick is that of a second job for one: `NaN`.
      ...(wrong.length === 0 ? [] : [`ticks that are missing, or there twice: ${wrong.length} (${wrong.slice(0, 3).join(', ')})`]),
      ...problemLines(checkRuns({ added: states.keys(), lines: folder.lines, states })),
      ...folder.fileProblems(),
    ],
  }
}
