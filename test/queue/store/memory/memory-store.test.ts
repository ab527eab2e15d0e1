import { MemoryDatabase } from '../../../../src/queue/store/memory/memory-database.js'
import type { MemorySession } from '../../../../src/queue/store/memory/memory-session.js'
import { MemoryStore } from '../../../../src/queue/store/memory/memory-store.js'
import { storeContract } from '../contract.js'

storeContract('memory', () => {
  const database = new MemoryDatabase()
  return { make: () => new MemoryStore(database), lose: (session) => (session as MemorySession).lose(), remove: () => {} }
})
