import { option } from '../../util/option-table.js'
import { storeAddress } from './address.js'
import { MemoryDatabase } from './memory/memory-database.js'
import { MemoryStore } from './memory/memory-store.js'
import type { Store } from './store.js'

/** The option that names a store. */
export const STORE_OPTION = option('text', storeAddress, () => storeAddress('store', undefined), "`'sqlite:./jobs.db'` or `'memory:'`", 'required')

const databases = new Map<string, MemoryDatabase>()

/** The database of that name: made by its first user, gone with its last. */
const memoryDatabase = (name: string): MemoryDatabase => {
  const found = databases.get(name)
  if (found !== undefined) return found
  const database = new MemoryDatabase(() => databases.delete(name))
  databases.set(name, database)
  return database
}

/**
 * A store that is not open yet: no file is made or looked at. Its jobs are those of all stores of the same address.
 *
 * `address`: as `storeAddress` has passed it.
 */
export const makeStore = async (address: string): Promise<Store> => {
  const rest = address.slice(address.indexOf(':') + 1)
  if (address.startsWith('memory:')) return new MemoryStore(memoryDatabase(rest))
  // Its module, and node:sqlite, are loaded only here: on a Node without it, all else works.
  const { SqliteStore } = await import('./sqlite/sqlite-store.js')
  return new SqliteStore(rest)
}
