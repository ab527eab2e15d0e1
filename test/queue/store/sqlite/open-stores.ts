import { afterEach, beforeEach } from 'vitest'
import type { SqliteOptions, SqliteStore } from '../../../../dist/queue/store/sqlite/sqlite-store.js'
import { ChildStore } from './child-store.js'
import { StoreFile } from './files.js'

/** A file for each test of a block, with stores of this process and of others, which end with the test. */
export const openStores = () => {
  let file: StoreFile
  let stores: SqliteStore[]
  let children: ChildStore[]

  beforeEach(() => {
    file = new StoreFile()
    stores = []
    children = []
  })
  afterEach(async () => {
    await Promise.all(children.map((child) => child.kill()))
    await Promise.all(stores.map((store) => store.close()))
    file.remove()
  })

  return {
    get file(): StoreFile {
      return file
    },
    openStore: async (options: SqliteOptions = {}, path = file.path): Promise<SqliteStore> => {
      const store = file.make(options, path)
      stores.push(store)
      await store.open()
      return store
    },
    openChild: async (options: SqliteOptions = {}): Promise<ChildStore> => {
      const child = await ChildStore.start(file.path, options)
      children.push(child)
      await child.open()
      return child
    },
  }
}
