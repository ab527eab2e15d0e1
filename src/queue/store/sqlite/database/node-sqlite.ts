/** node:sqlite, loaded on demand: Node 20 has none. The types of Node 20 do not know it either, so what the store uses of it is typed here. */
import { isBuiltin } from 'node:module'

export type SqlValue = null | number | string | Uint8Array

export type Row = Record<string, SqlValue>

export interface Statement {
  run(...parameters: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number }
  get(...parameters: SqlValue[]): Row | undefined
  all(...parameters: SqlValue[]): Row[]
}

/** What later versions of Node can do besides. */
interface ArrayStatement extends Statement {
  setReturnArrays?(enabled: boolean): void
  columns?(): readonly { readonly name: string }[]
}

export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** Whether this Node has node:sqlite without a flag. */
export const hasSqlite = (): boolean => isBuiltin('node:sqlite')

/** Node warns that its SQLite is experimental. It warns in the thread that loads it: there, and nowhere else, the warning is dropped. */
export const silenceSqliteWarning = (): void => {
  const { emitWarning } = process
  process.emitWarning = ((warning: string | Error, ...rest: [never]) => {
    const [options] = rest as readonly unknown[]
    const type = typeof options === 'object' && options !== null ? (options as { type?: unknown }).type : options
    if (type === 'ExperimentalWarning' && String(warning).includes('SQLite')) return
    emitWarning.call(process, warning, ...rest)
  }) as typeof emitWarning
}

export const openDatabase = (path: string): Database => {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as { DatabaseSync: new (path: string) => Database }
  return new DatabaseSync(path)
}

/**
 * The statement, with its rows as plain objects of one shape. Those that Node makes are dictionaries, which take twice as long to make, and longer to
 * read. As they are where Node gives no arrays (before 22.16).
 */
export const withPlainRows = (statement: Statement): Statement => {
  const given = statement as ArrayStatement
  if (given.setReturnArrays === undefined || given.columns === undefined) return statement
  const names = given.columns().map(({ name }) => name)
  given.setReturnArrays(true)
  const rowOf = (values: unknown): Row => {
    const row: Row = {}
    for (let index = 0; index < names.length; index++) row[names[index]!] = (values as SqlValue[])[index]!
    return row
  }
  return {
    run: (...parameters) => statement.run(...parameters),
    get: (...parameters) => {
      const values = statement.get(...parameters)
      return values === undefined ? undefined : rowOf(values)
    },
    all: (...parameters) => statement.all(...parameters).map(rowOf),
  }
}

/** The primary result code of SQLite; undefined: the error is not SQLite's. */
export const resultCode = (error: unknown): number | undefined => {
  const code = (error as { errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

export const RESULT = { BUSY: 5, LOCKED: 6, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, NOTADB: 26 } as const
