import { describe } from 'vitest'
import { storeContract } from '../contract.js'
import { hasSqlite, StoreFile } from './files.js'

describe.skipIf(!hasSqlite)('in one process', () => {
  storeContract('sqlite', () => {
    const file = new StoreFile()
    return { make: () => file.make(), lose: (session) => file.lose(session), remove: () => file.remove() }
  })
})
