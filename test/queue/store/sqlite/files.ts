/** Store files of tests, and what tests do to them behind the store's back. */
import { mkdtempSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SqliteOptions, SqliteStore } from '../../../../dist/queue/store/sqlite/sqlite-store.js'
import { type Database, openDatabase, silenceSqliteWarning } from '../../../../src/queue/store/sqlite/database/node-sqlite.js'
import type { StoreSession } from '../../../../src/queue/store/store.js'

export const hasSqlite = isBuiltin('node:sqlite')
if (!hasSqlite) console.warn(`\n**** The tests of the store in a file are SKIPPED: Node ${process.version} has no node:sqlite. ****\n`)
else silenceSqliteWarning()

export class StoreFile {
  readonly folder = mkdtempSync(join(tmpdir(), 'pf-store-'))
  readonly path = join(this.folder, 'jobs.db')

  make(options: SqliteOptions = {}, path = this.path): SqliteStore {
    return new SqliteStore(path, options)
  }

  /** Runs SQL on a connection of its own, for as long as it takes. */
  async sqlAsync(use: (database: Database) => Promise<void>): Promise<void> {
    const database = openDatabase(this.path)
    database.exec('PRAGMA busy_timeout = 5000')
    try {
      await use(database)
    } finally {
      database.close()
    }
  }

  /** Runs SQL on a connection of its own. */
  sql<T>(use: (database: Database) => T): T {
    const database = openDatabase(this.path)
    database.exec('PRAGMA busy_timeout = 5000')
    try {
      return use(database)
    } finally {
      database.close()
    }
  }

  /** As another process would. */
  lose(session: StoreSession): void {
    this.sql((database) => database.prepare('UPDATE session SET dead = 1 WHERE id = ?').run((session as unknown as { id: number }).id))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Lets the thread of a store end by an exception: what it is sent has no jobs. */
export const failThread = async (store: SqliteStore): Promise<void> => {
  await store.add({ map: () => undefined } as never).catch(() => {})
}
