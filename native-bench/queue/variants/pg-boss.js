// pg-boss by `fetch` and `complete`, many jobs at a time: its `work` waits for half a second between two batches.
import { randomBytes } from 'node:crypto'
import { argsOf } from '../jobs.js'
import { POSTGRES_URL } from '../servers.js'

/** @import { Drain, DrainOptions } from '../types.js' */

const BULK = 10_000
const NAME = 'noop'

/** @param {DrainOptions} options @returns {Promise<Drain>} */
export const openPgBoss = async ({ jobs, outstanding }) => {
  const { PgBoss } = await import('pg-boss')
  const { default: pg } = await import('pg')
  const schema = `prefork_bench_${randomBytes(6).toString('hex')}`
  const boss = new PgBoss({ connectionString: POSTGRES_URL, schema, supervise: false, schedule: false })
  await boss.start()
  await boss.createQueue(NAME)
  for (let from = 0; from < jobs; from += BULK)
    await boss.insert(
      NAME,
      Array.from({ length: Math.min(BULK, jobs - from) }, (_, index) => ({ data: argsOf(from + index)[0] })),
    )
  let left = jobs
  let stopped = false
  const run = async () => {
    while (!stopped) {
      const batch = await boss.fetch(NAME, { batchSize: outstanding })
      if (batch.length === 0) return
      await boss.complete(
        NAME,
        batch.map((/** @type {{ id: string }} */ { id }) => id),
      )
      left -= batch.length
    }
  }
  /** @type {Promise<void>} */
  let running
  return {
    start: async () => {
      running = run()
    },
    left: () => left,
    stop: async () => {
      stopped = true
      await running
      await boss.stop({ graceful: false })
      const client = new pg.Client({ connectionString: POSTGRES_URL })
      await client.connect()
      await client.query(`DROP SCHEMA ${schema} CASCADE`)
      await client.end()
    },
  }
}
