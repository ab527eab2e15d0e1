// Loaded before the package: gives the store's thread a shorter lease and a wall clock that can be moved, and measures its transactions. Users have no such switch.
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'

const threads = createRequire(import.meta.url)('node:worker_threads')
const { lease, measure } = JSON.parse(process.env.PREFORK_PROOF_STORE ?? '{}')
const probe = fileURLToPath(new URL('store-thread-probe.cjs', import.meta.url))

/** ms that the wall clock is off by, as the store and this process see it. */
export const wallOffset = new Float64Array(new SharedArrayBuffer(8))
/** The longest transaction, ms, and how many there were. */
export const transactions = new Float64Array(new SharedArrayBuffer(16))

const { now } = Date
Date.now = () => now() + wallOffset[0]

threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    if (options?.name !== 'prefork store') super(file, options)
    else {
      const data = { ...options.workerData, wallOffset, ...(lease === undefined ? undefined : { lease }) }
      if (measure === true) super(probe, { ...options, workerData: { ...data, thread: fileURLToPath(file), transactions } })
      else super(file, { ...options, workerData: data })
    }
  }
}
syncBuiltinESMExports()
