// Runs one measurement in this fresh process: `node one.js <case> <variant> <pool> [quick]`. It prints the figures as JSON on descriptor 3
// (by hand: `3>&1`), as a pool may write to stdout.
/** @import { Case, Metrics, OpenOptions, OpenPool, PoolEntry, PoolModule } from './types.js' */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { driveCFloor } from './floor/c-floor.js'
import { POOLS } from './pools/index.js'

// Node 20 reads such a bundle at every start: 50 ms that are no pool's. (tinypool hands its processes no environment.)
delete process.env.NODE_EXTRA_CA_CERTS

const FIGURES = 3
const CLOSE_MS = 5_000
const [caseName = '', variantKey = '', pool = '', quick] = process.argv.slice(2)

/** @returns {Promise<Metrics>} */
const measure = async () => {
  // Not through cases/index.js, which would load the other cases into this process.
  const found = /** @type {Case} */ ((await import(`./cases/${caseName}.js`)).default)
  const variant = found.variants.find(({ key }) => key === variantKey)
  const entry = /** @type {PoolEntry} */ (POOLS[pool])
  if (entry.kind !== 'floor') {
    // The case "import" measures this import itself.
    const adapter = caseName === 'import' ? undefined : /** @type {PoolModule} */ (await import(`./pools/${entry.adapter}`))
    /** @param {OpenOptions} options */
    const open = async (options) => {
      if (adapter === undefined) throw new Error('no pool in this case')
      const opened = await adapter.open(options, entry.flavour ?? '')
      return { call: opened.call, close: () => closeOf(opened) }
    }
    /** A close() that never settles is an error of prefork; a peer's figures count all the same. @param {OpenPool} opened */
    const closeOf = (opened) => {
      const late = sleep(CLOSE_MS).then(() => {
        if (entry.kind === 'prefork') throw new Error(`close() took longer than ${CLOSE_MS} ms`)
      })
      return Promise.race([opened.close(), late])
    }
    return found.measure({ pool, entry, variant, quick: quick === 'quick', open })
  }
  const plan = found.floor?.(variant, quick === 'quick')
  if (plan === undefined || found.fromFloor === undefined) throw new Error('the floors take no part in this case')
  if (pool === 'c-floor') return found.fromFloor(driveCFloor(plan))
  const { driveNodeFloor } = await import('./floor/node-host.js')
  return found.fromFloor(await driveNodeFloor(plan))
}

// A top-level await: if a pool leaves a promise pending for ever, Node exits with code 13 instead of 0.
const metrics = await measure()
writeSync(FIGURES, `${JSON.stringify(metrics)}\n`)
process.exit(0)
