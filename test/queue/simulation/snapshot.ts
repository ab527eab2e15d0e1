/** All that a store holds, as it is after a commit: read beside the store's own code. */
import type { MemoryDatabase } from '../../../src/queue/store/memory/memory-database.js'
import type { Database, Row, Statement } from '../../../src/queue/store/sqlite/database/node-sqlite.js'
import { TIMING } from '../../../src/queue/store/sqlite/engine/rows.js'
import { JOB_STATES, type JobState, type QueueState, type StoredOptions } from '../../../src/queue/store/store.js'
import type { HistoryEntry } from '../../../src/runtime/delivery.js'

export interface SnapshotJob {
  readonly seq: number
  readonly id: string
  readonly queue: string
  readonly task: string
  readonly state: JobState
  /** When it is due, on the wall clock. */
  readonly dueAt: number | undefined
  readonly expiresAt: number | undefined
  readonly losses: number
  /** Entries of its history for runs that were lost. */
  readonly lostRuns: number
  readonly requeues: number
  readonly token: number
  /** The name of the session that holds it. */
  readonly session: string | undefined
  readonly begun: number
  readonly cancel: boolean
  readonly dedup: string | undefined
  /** How many it waits on, as the store counts them. */
  readonly pending: number
  readonly tolerant: boolean
  readonly endedAt: number | undefined
  readonly options: StoredOptions
  /** The seqs of those that it depends on, as far as the store still knows. */
  readonly dependsOn: readonly number[]
}

export interface Snapshot {
  readonly jobs: ReadonlyMap<number, SnapshotJob>
  readonly counts: Readonly<Record<string, Readonly<Record<JobState, number>>>>
  /** By name. */
  readonly sessions: ReadonlyMap<string, { readonly id: number | undefined; readonly beat: number; readonly dead: boolean }>
  readonly queues: ReadonlyMap<string, QueueState>
  /** By queue and key: the next tick. */
  readonly schedules: ReadonlyMap<string, { readonly nextAt: number | undefined; readonly every: number; readonly catchUp: string }>
  /** What intervals and delays have been moved by. */
  readonly shift: number
}

export const NO_SNAPSHOT: Snapshot = { jobs: new Map(), counts: {}, sessions: new Map(), queues: new Map(), schedules: new Map(), shift: 0 }

export const lostRuns = (history: readonly HistoryEntry[]): number => history.filter(({ outcome }) => outcome === 'lost').length

const text = (value: unknown): string | undefined => (value === null ? undefined : (value as string))
const number = (value: unknown): number | undefined => (value === null ? undefined : (value as number))

const TABLES = {
  jobs: 'SELECT * FROM job',
  edges: 'SELECT * FROM edge',
  counters: 'SELECT * FROM counter WHERE n <> 0',
  sessions: 'SELECT * FROM session',
  queues: 'SELECT * FROM queue',
  schedules: 'SELECT queue, key, definition, next_at FROM schedule',
  clock: "SELECT value FROM meta WHERE key = 'clock'",
} as const

/** Reads the file of a store by a connection of its own. */
export class FileReader {
  readonly #database: Database
  readonly #statements: Record<keyof typeof TABLES, Statement>

  constructor(database: Database) {
    this.#database = database
    this.#statements = Object.fromEntries(Object.entries(TABLES).map(([name, sql]) => [name, database.prepare(sql)])) as Record<keyof typeof TABLES, Statement>
  }

  read(): Snapshot {
    const all = (name: keyof typeof TABLES): Row[] => this.#statements[name].all()
    const names = new Map(all('queues').map(({ id, name }) => [id, name as string]))
    const sessionNames = new Map(all('sessions').map(({ id, name }) => [id, name as string]))
    const clock = all('clock')[0]
    const shift = clock === undefined ? 0 : (JSON.parse(clock.value as string) as { shift: number }).shift
    const edges = new Map<unknown, number[]>()
    for (const { before, after } of all('edges')) edges.set(after, [...(edges.get(after) ?? []), before as number])
    const jobs = all('jobs').map((row): [number, SnapshotJob] => [
      row.seq as number,
      {
        seq: row.seq as number,
        id: row.id as string,
        queue: names.get(row.queue!)!,
        task: row.task as string,
        state: JOB_STATES[row.state as number]!,
        dueAt: row.run_at === null ? undefined : (row.run_at as number) + (row.timing === TIMING.at ? 0 : shift),
        expiresAt: number(row.expires_at),
        losses: row.losses as number,
        lostRuns: row.history === null ? 0 : lostRuns(JSON.parse(row.history as string) as HistoryEntry[]),
        requeues: row.requeues as number,
        token: row.token as number,
        session: row.session === null ? undefined : (sessionNames.get(row.session!) ?? `of number ${row.session}, which is gone`),
        begun: row.begun as number,
        cancel: row.cancel === 1,
        dedup: text(row.dedup),
        pending: Number(row.pending),
        tolerant: row.tolerant === 1,
        endedAt: number(row.ended_at),
        options: row.options === null ? {} : (JSON.parse(row.options as string) as StoredOptions),
        dependsOn: edges.get(row.seq) ?? [],
      },
    ])
    const counts: Record<string, Record<JobState, number>> = {}
    for (const { queue, state, n } of all('counters')) {
      const name = names.get(queue!)!
      counts[name] ??= {} as Record<JobState, number>
      counts[name][JOB_STATES[state as number]!] = n as number
    }
    const schedules = all('schedules').map(({ queue, key, definition, next_at }): [string, { nextAt: number | undefined; every: number; catchUp: string }] => {
      const { every, catchUp } = JSON.parse(definition as string) as { every: number; catchUp: string }
      return [`${names.get(queue!)} ${key}`, { nextAt: number(next_at), every, catchUp }]
    })
    return {
      jobs: new Map(jobs),
      counts,
      sessions: this.readSessions(),
      queues: new Map(all('queues').map(({ name, paused, rate }) => [name as string, { paused: paused === 1, rate: rate as string | null }])),
      schedules: new Map(schedules),
      shift,
    }
  }

  readSessions(): Snapshot['sessions'] {
    return new Map(
      this.#statements.sessions.all().map(({ id, name, beat, dead }) => [name as string, { id: id as number, beat: beat as number, dead: dead === 1 }]),
    )
  }

  /** What SQLite finds wrong with the file. */
  damage(): string | undefined {
    const result = String(this.#database.prepare('PRAGMA quick_check').get()!.quick_check)
    return result === 'ok' ? undefined : result
  }

  close(): void {
    this.#database.close()
  }
}

/** Reads a store in memory without letting it act. */
export const readMemory = (database: MemoryDatabase, queues: readonly string[]): Snapshot => {
  const { table, shift } = database.jobs
  const jobs = [...table.candidates({})].map((row): [number, SnapshotJob] => [
    row.seq,
    {
      seq: row.seq,
      id: row.id,
      queue: row.queue,
      task: row.task,
      state: row.state,
      dueAt: row.runAt === undefined || row.timing === 'at' ? row.runAt : row.runAt + shift,
      expiresAt: row.expiresAt,
      losses: row.counts.losses,
      lostRuns: lostRuns(row.history),
      requeues: row.counts.requeues,
      token: row.token,
      session: row.session === undefined ? undefined : (database.sessions.get(row.session as never)?.name ?? 'that is gone'),
      begun: row.begun,
      cancel: row.cancelRequested,
      dedup: row.dedup,
      pending: row.waitsOn.size,
      tolerant: row.onFailedDependency === 'run',
      endedAt: row.endedAt,
      options: row.options,
      dependsOn: row.dependsOn.map(({ seq }) => seq),
    },
  ])
  const schedules = queues.flatMap((queue) =>
    database
      .schedules(queue)
      .map(({ key, nextAt, every, catchUp }): [string, { nextAt: number | undefined; every: number; catchUp: string }] => [
        `${queue} ${key}`,
        { nextAt, every: every!, catchUp },
      ]),
  )
  return {
    jobs: new Map(jobs),
    counts: table.counts(undefined),
    sessions: new Map([...database.sessions.values()].map(({ name }) => [name, { id: undefined, beat: 0, dead: false }])),
    queues: new Map(queues.map((queue) => [queue, database.settings(queue)])),
    schedules: new Map(schedules),
    shift,
  }
}
