// A handler in this process, on the store itself: what a node adds to that is the worker processes.
import { SqliteStore } from '../../../dist/queue/store/sqlite/sqlite-store.js'
import { COMPLETED, fileIn, fillUsed, QUEUE } from '../jobs.js'

/** @import { ClaimedJob, StoreSession } from '../../../dist/queue/store/store.js' */
/** @import { Drain, DrainOptions } from '../types.js' */

/**
 * Settlements and the next claim are asked for in one turn, so they are one transaction.
 * @param {(session: StoreSession, jobs: readonly ClaimedJob[]) => Promise<unknown>[]} settle @param {DrainOptions} options @returns {Promise<Drain>}
 */
const drainStore = async (settle, { folder, jobs, outstanding }) => {
  const queue = await fillUsed(fileIn(folder), jobs)
  const store = new SqliteStore(fileIn(folder))
  await store.open()
  const session = await store.openSession({ name: 'bench', schedulers: true })
  let left = jobs
  let stopped = false
  const run = async () => {
    let claim = await session.claim([QUEUE], outstanding)
    while (claim.jobs.length > 0) {
      const settled = settle(session, claim.jobs)
      const next = stopped ? undefined : session.claim([QUEUE], outstanding)
      await Promise.all(settled)
      left -= settled.length
      if (next === undefined) return
      claim = await next
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
      await session.close()
      await Promise.all([store.close(), queue.close()])
    },
  }
}

/** As a node does it: the beginning of each job is stored too. @param {DrainOptions} options */
export const openStore = (options) =>
  drainStore(
    (session, jobs) =>
      jobs.map((job) => {
        session.began(job)
        return session.settle(job, COMPLETED)
      }),
    options,
  )

/** One job at a time: its settlement and the claim of the next one are one transaction. @param {DrainOptions} options */
export const openSingle = (options) => drainStore((session, jobs) => jobs.map((job) => session.settle(job, COMPLETED)), { ...options, outstanding: 1 })
