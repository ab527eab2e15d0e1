// What the tasks have written about their runs.
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** @import { Stamp } from './types.js' */

const POLL_MS = 10

/** @param {string} folder */
export const stampFile = (folder) => `${folder}/stamps`

/** ms on the clock of the stamps. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

/** The runs that have ended: one of each job. @param {string} folder @returns {Stamp[]} */
export const readStamps = (folder) => {
  const file = stampFile(folder)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const all = lines.map((line) => /** @type {Stamp} */ (JSON.parse(line)))
  return [...new Map(all.map((stamp) => [stamp.n, stamp])).values()]
}

/** Waits until so many jobs have ended. @param {string} folder @param {number} jobs */
export const stampsOf = async (folder, jobs) => {
  let stamps = readStamps(folder)
  for (; stamps.length < jobs; stamps = readStamps(folder)) await sleep(POLL_MS)
  return stamps
}

/**
 * The longest time, ms, that one of the jobs waited while one and the same worker ran no job.
 * @param {readonly Stamp[]} stamps of all jobs @param {readonly number[]} pids of the workers @param {number} published ms @param {(stamp: Stamp) => boolean} counts whether the wait of this job counts
 */
export const longestWait = (stamps, pids, published, counts) => {
  const free = pids.flatMap((pid) => {
    const runs = stamps.filter((stamp) => stamp.pid === pid).sort((a, b) => a.began - b.began)
    return [...runs, undefined].map((run, index) => ({
      from: Math.max(published, runs[index - 1]?.ended ?? published),
      to: run?.began ?? Number.POSITIVE_INFINITY,
    }))
  })
  const waits = stamps.filter(counts).flatMap(({ began }) => free.map(({ from, to }) => Math.min(began, to) - from))
  return Math.max(0, ...waits)
}
