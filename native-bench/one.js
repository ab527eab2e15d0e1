// One measurement, in this fresh process: `node one.js <case> <variant> <pool> [quick]`. The figures leave as JSON on descriptor 3 (by hand: `3>&1`), for a
// pool may write to the standard output.
/** @import { Case, Metrics, OpenOptions, OpenPool, PoolEntry, PoolModule } from './types.js' */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { driveCFloor } from './floor/c-floor.js'
import { POOLS } from './pools/index.js'

const FIGURES = 3
const CLOSE_MS = 5_000
const [caseName = '', variantKey = '', pool = '', quick] = process.argv.slice(2)

/** @returns {Promise<Metrics>} */
const measure = async () => {
  // Not through cases/index.js: what other cases load would be in this process too.
  const found = /** @type {Case} */ ((await import(`./cases/${caseName}.js`)).default)
  const variant = found.variants.find(({ key }) => key === variantKey)
  const entry = /** @type {PoolEntry} */ (POOLS[pool])
  if (entry.kind !== 'floor') {
    // The case "import" measures just this.
    const adapter = caseName === 'import' ? undefined : /** @type {PoolModule} */ (await import(`./pools/${entry.adapter}`))
    /** @param {OpenOptions} options */
    const open = async (options) => {
      if (adapter === undefined) throw new Error('no pool in this case')
      const opened = await adapter.open(options, entry.flavour ?? '')
      return { call: opened.call, close: () => closeOf(opened) }
    }
    /** A peer whose close() never settles has been measured all the same; of prefork that would be a fault. @param {OpenPool} opened */
    const closeOf = (opened) => {
      const late = sleep(CLOSE_MS).then(() => {
        if (entry.kind === 'prefork') throw new Error(`close() took longer than ${CLOSE_MS} ms`)
      })
      return Promise.race([opened.close(), late])
    }
    return found.measure({ pool, entry, variant, quick: quick === 'quick', open })
  }
  const plan = found.floor?.(variant, quick === 'quick')
  if (plan === undefined || found.fromFloor === undefined) throw new Error('the floors have no part in this')
  if (pool === 'c-floor') return found.fromFloor(driveCFloor(plan))
  const { driveNodeFloor } = await import('./floor/node-host.js')
  return found.fromFloor(await driveNodeFloor(plan))
}

// A promise that a pool leaves pending for ever would otherwise look like a good end: nothing holds the process, and it exits with 0.
// (Node itself says 13 then.)
const metrics = await measure()
writeSync(FIGURES, `${JSON.stringify(metrics)}\n`)
process.exit(0)
