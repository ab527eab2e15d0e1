/** The store and the journal of one proof, and the processes that use them. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, openDatabase, RESULT, resultCode, silenceSqliteWarning } from '../../src/queue/store/sqlite/database/node-sqlite.js'
import { isAtLeast } from '../../src/queue/store/sqlite/thread/open-file.js'
import { JOB_STATES, type JobState } from '../../src/queue/store/store.js'
import { type JournalLine, parseJournal } from './check-runs.js'
import type { Member } from './member.js'

/** Whether several processes of this Node may share a file. */
export const sharesFiles = process.versions.sqlite !== undefined && isAtLeast(process.versions.sqlite, [3, 51, 3])

export class ProofFolder implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'prefork-proof-'))
  readonly path: string
  readonly journal = join(this.folder, 'journal')
  /** Those that are still there are killed at the end. */
  readonly members = new Set<Member>()

  /** `below`: the folder of the store, where that is another. */
  constructor(below?: string) {
    this.path = join(below ?? this.folder, 'jobs.db')
    writeFileSync(this.journal, '')
  }

  get address(): string {
    return `sqlite:${this.path}`
  }

  get lines(): readonly JournalLine[] {
    return parseJournal(readFileSync(this.journal, 'utf8'))
  }

  /** Tells whether anything was written since it was made. */
  journalGrows(): () => boolean {
    const before = statSync(this.journal).size
    return () => statSync(this.journal).size > before
  }

  /** Ids of the lines with this mark, in their order. */
  ids(mark: string): string[] {
    return this.lines.flatMap((line) => (line.mark === mark ? [line.id] : []))
  }

  /** Runs SQL on a connection of its own. */
  sql<T>(use: (database: Database) => T): T {
    silenceSqliteWarning()
    const database = openDatabase(this.path)
    try {
      database.exec('PRAGMA busy_timeout = 10000')
      return use(database)
    } finally {
      database.close()
    }
  }

  /** Whether nobody holds the lock of the file for long. */
  isWritable(): boolean {
    const database = openDatabase(this.path)
    try {
      database.exec('PRAGMA busy_timeout = 500; BEGIN IMMEDIATE; ROLLBACK')
      return true
    } catch (error) {
      if (resultCode(error) === RESULT.BUSY) return false
      throw error
    } finally {
      database.close()
    }
  }

  /** Holds the lock of the file for so many ms. */
  async locked(ms: number): Promise<void> {
    const database = openDatabase(this.path)
    try {
      database.exec('PRAGMA busy_timeout = 10000')
      database.exec('BEGIN IMMEDIATE')
      await delay(ms)
      database.exec('ROLLBACK')
    } finally {
      database.close()
    }
  }

  /** The state of each job. */
  states(): Map<string, JobState> {
    const rows = this.sql((database) => database.prepare('SELECT id, state FROM job').all())
    return new Map(rows.map(({ id, state }) => [id as string, JOB_STATES[state as number]!]))
  }

  /** What is wrong with the file itself: pages, counters that differ from the rows, jobs of sessions that are gone. */
  fileProblems(): string[] {
    return this.sql((database) => {
      const [check] = database.prepare('PRAGMA integrity_check').all()
      const counted = database.prepare('SELECT queue, state, count(*) AS n FROM job GROUP BY queue, state ORDER BY queue, state').all()
      const counters = database.prepare('SELECT queue, state, n FROM counter WHERE n <> 0 ORDER BY queue, state').all()
      const orphans = database.prepare('SELECT count(*) AS n FROM job WHERE state = 2 AND session NOT IN (SELECT id FROM session)').get()!.n
      return [
        ...(check!.integrity_check === 'ok' ? [] : [`integrity_check: ${check!.integrity_check}`]),
        ...(JSON.stringify(counted) === JSON.stringify(counters) ? [] : [`counters ${JSON.stringify(counters)}, rows ${JSON.stringify(counted)}`]),
        ...(orphans === 0 ? [] : [`${orphans} jobs of sessions that are gone`]),
      ]
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.members].map((member) => member.kill()))
    rmSync(this.folder, { recursive: true, force: true })
  }
}
