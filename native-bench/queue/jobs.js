// A store with jobs, for one measurement.
import { createQueue } from '../../dist/queue/index.js'
import { SqliteStore } from '../../dist/queue/store/sqlite/sqlite-store.js'

export const QUEUE = 'bench'
/** Jobs of one call. */
const BULK = 10_000
/** So that a body has 295 bytes. */
const PADDING = 'x'.repeat(200)

/** The file of a measurement in its folder. @param {string} folder @param {string} [name] */
export const fileIn = (folder, name = 'jobs.db') => `${folder}/${name}`

/** The arguments of a job: those of real jobs differ. @param {number} n */
export const argsOf = (n) => [{ user: n, email: `user-${n}@example.com`, at: Date.now() + n }]

/** The same, larger. @param {number} n */
export const largeArgsOf = (n) => [{ ...argsOf(n)[0], padding: PADDING }]

/** A no-op's answer is `undefined`, in MessagePack. */
export const COMPLETED = /** @type {const} */ ({ as: 'completed', answer: new Uint8Array([0xd4, 0, 0]) })
/** Ended jobs that a queue keeps by default. */
const KEPT = 10_000
/** Jobs of one transaction, where it does not matter. */
const BATCH = 500

/** As many jobs end as are kept: from then on, each that ends pushes one out. @param {string} file */
const fillHistory = async (file) => {
  const queue = await fill(file, KEPT)
  const store = new SqliteStore(file)
  await store.open()
  const session = await store.openSession({ name: 'history', schedulers: true })
  for (let claim = await session.claim([QUEUE], BATCH); claim.jobs.length > 0; claim = await session.claim([QUEUE], BATCH))
    await Promise.all(claim.jobs.map((job) => session.settle(job, COMPLETED)))
  await session.close()
  await Promise.all([store.close(), queue.close()])
}

/** As `fill`, in a queue that keeps as many ended jobs as it does by default. @param {string} file @param {number} jobs */
export const fillUsed = async (file, jobs) => {
  await fillHistory(file)
  return await fill(file, jobs)
}

/** Adds so many no-ops. The queue stays open. @param {string} file @param {number} jobs @param {(n: number) => unknown[]} [args] */
export const fill = async (file, jobs, args = argsOf) => {
  const queue = await createQueue({ store: `sqlite:${file}`, queue: QUEUE })
  for (let from = 0; from < jobs; from += BULK)
    await queue.addBulk(Array.from({ length: Math.min(BULK, jobs - from) }, (_, index) => ({ task: 'noop', args: args(from + index) })))
  return queue
}
