// A store with jobs, for one measurement.
import { createQueue } from '../../dist/queue/index.js'

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

/** Adds so many no-ops. The queue stays open. @param {string} file @param {number} jobs @param {(n: number) => unknown[]} [args] */
export const fill = async (file, jobs, args = argsOf) => {
  const queue = await createQueue({ store: `sqlite:${file}`, queue: QUEUE })
  for (let from = 0; from < jobs; from += BULK)
    await queue.addBulk(Array.from({ length: Math.min(BULK, jobs - from) }, (_, index) => ({ task: 'noop', args: args(from + index) })))
  return queue
}
