// graphile-worker with what its documentation recommends for throughput: a local queue, and completions in batches.
import { randomBytes } from 'node:crypto'
import { argsOf } from '../jobs.js'
import { POSTGRES_URL } from '../servers.js'

/** @import { Drain, DrainOptions } from '../types.js' */

const BULK = 10_000

/** @param {DrainOptions} options @returns {Promise<Drain>} */
export const openGraphile = async ({ jobs, outstanding }) => {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker')
  const { default: pg } = await import('pg')
  const schema = `prefork_bench_${randomBytes(6).toString('hex')}`
  const logger = new Logger(() => () => {})
  const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 10 })
  const utils = await makeWorkerUtils({ pgPool: pool, schema, logger })
  await utils.migrate()
  for (let from = 0; from < jobs; from += BULK)
    await utils.addJobs(Array.from({ length: Math.min(BULK, jobs - from) }, (_, index) => ({ identifier: 'noop', payload: argsOf(from + index)[0] })))
  let left = jobs
  /** @type {Awaited<ReturnType<typeof run>>} */
  let runner
  return {
    start: async () => {
      const preset = {
        worker: { schema, logger, concurrentJobs: outstanding, localQueue: { size: outstanding }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
      }
      const noop = async () => {
        left--
      }
      runner = await run({ pgPool: pool, preset, taskList: { noop }, noHandleSignals: true })
    },
    left: () => left,
    stop: async () => {
      await runner.stop()
      await utils.release()
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    },
  }
}
