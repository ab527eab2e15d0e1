import { closeSync, openSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { performance } from 'node:perf_hooks'
import { StoreError } from '../../errors.js'
import { type Database, openDatabase, RESULT, resultCode } from '../database/node-sqlite.js'
import { APPLICATION_ID, migrate, SCHEMA_VERSION, versionOf } from '../database/schema.js'
import { isBusy, wait } from './lock.js'

/** The first version of SQLite with which several connections may share a file: older ones can corrupt its log. */
const SAFE_VERSION = [3, 51, 3] as const

/** ms that a file may be locked by another process while it is opened. */
const OPEN_TIMEOUT = 2_000

/** File systems whose locks, or shared memory, do not reach from one machine to the next. By the numbers of Linux. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
])

/** Undefined: it is local, as far as its number tells. */
export const networkFileSystem = (type: number): string | undefined => NETWORK_FILE_SYSTEMS.get(type >>> 0)

const unusable = (message: string, cause?: unknown): StoreError => new StoreError('ERR_PREFORK_STORE_UNUSABLE', message, { cause })

export const isAtLeast = (version: string, wanted: readonly number[]): boolean => {
  const parts = version.split('.').map(Number)
  const index = wanted.findIndex((part, at) => part !== (parts[at] ?? 0))
  return index === -1 || (parts[index] ?? 0) > wanted[index]!
}

const checkFolder = (path: string): void => {
  const folder = dirname(path)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw unusable(`There is no folder ${folder} for the store ${basename(path)}: create it, or name another.`)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw unusable(`${path} is a folder: name a file in it, such as ${path}/jobs.db.`)
  if (process.platform !== 'linux') return
  const network = networkFileSystem(statfsSync(folder).type)
  if (network !== undefined)
    throw unusable(`${path} is on a network file system (${network}), whose locks do not keep a database whole: put it on a local disk, or use RabbitMQ.`)
}

/** Creates the file for its owner alone; SQLite gives its other files the same mode. A file that is there is not opened: closing it would drop the locks of this process. */
const createFile = (path: string): void => {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw unusable(`${path} cannot be created (${code}): its folder must be writable for this user.`, error)
  }
}

/** Of the library that runs. Asked in memory: a file that is locked cannot be asked. */
const sqliteVersion = (): string => {
  const database = openDatabase(':memory:')
  const { version } = database.prepare('SELECT sqlite_version() AS version').get()!
  database.close()
  return String(version)
}

export interface OpenedFile {
  readonly database: Database
  /** No other process can use the file. */
  readonly exclusive: boolean
  /** Names the file itself, whatever path leads to it. */
  readonly identity: string
}

export const identityOf = (path: string): string | undefined => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}

/** Opens the file of a store: creates or migrates it. Throws StoreError when it cannot be used; the message says what to do. `exclusive`: for tests. */
export const openFile = (path: string, exclusive?: boolean): OpenedFile => {
  checkFolder(path)
  createFile(path)
  const identity = identityOf(path)!
  let database: Database | undefined
  try {
    database = openDatabase(path)
    const version = sqliteVersion()
    const alone = exclusive ?? !isAtLeast(version, SAFE_VERSION)
    prepare(database, path, alone, version)
    return { database, exclusive: alone, identity }
  } catch (error) {
    database?.close()
    throw error instanceof StoreError ? error : openError(path, error)
  }
}

const openError = (path: string, error: unknown): StoreError => {
  const code = resultCode(error)
  if (code === RESULT.NOTADB) return unusable(`${path} is not a database: name another file, or move this one away.`, error)
  if (code === RESULT.CORRUPT) return new StoreError('ERR_PREFORK_STORE_CORRUPT', `${path} is damaged: restore it from a backup.`, { cause: error })
  if (code === RESULT.FULL) return new StoreError('ERR_PREFORK_STORE_FULL', `No room is left on the disk of ${path}.`, { cause: error })
  return unusable(`${path} cannot be opened (${(error as Error).message}): it and its folder must be readable and writable for this user.`, error)
}

/** Tries until the lock of another process is gone. Its own waits are short and random, which is fairer than those of SQLite. */
const whileLocked = (path: string, alone: boolean, version: string, change: () => void): void => {
  const end = performance.now() + OPEN_TIMEOUT
  for (;;) {
    try {
      change()
      return
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() > end) throw inUse(path, alone, version, error)
      wait()
    }
  }
}

const inUse = (path: string, alone: boolean, version: string, cause: unknown): StoreError => {
  const wanted = SAFE_VERSION.join('.')
  const why = alone
    ? `This Node has SQLite ${version}, with which only one process may use a file`
    : `Another process holds it for itself: its Node has an SQLite older than ${wanted}, or it changes the file by other means`
  return unusable(
    `${path} is in use. ${why}. Several processes share a file where process.versions.sqlite is at least ${wanted}: install Node 22.23, or a later 24, for all of them.`,
    cause,
  )
}

const prepare = (database: Database, path: string, alone: boolean, version: string): void => {
  database.exec('PRAGMA busy_timeout = 0')
  if (alone) database.exec('PRAGMA locking_mode = EXCLUSIVE')
  whileLocked(path, alone, version, () => database.exec('PRAGMA journal_mode = WAL'))
  database.exec(`
    PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432;
    PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF`)
  whileLocked(path, alone, version, () => migrateFile(database, path))
}

const migrateFile = (database: Database, path: string): void => {
  database.exec('BEGIN IMMEDIATE')
  try {
    checkOwner(database, path)
    migrate(database)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

const checkOwner = (database: Database, path: string): void => {
  const owner = database.prepare('PRAGMA application_id').get()!.application_id
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  if (owner !== APPLICATION_ID && !(isEmpty && owner === 0)) throw unusable(`${path} is the database of another application: name another file.`)
  const version = versionOf(database)
  if (version > SCHEMA_VERSION)
    throw unusable(`${path} was written by a newer version of prefork (schema ${version}; this one knows ${SCHEMA_VERSION}): install that version here too.`)
}
