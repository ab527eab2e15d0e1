// How long the disk takes to make a write durable. Speed that comes from commits that are shared means nothing where a commit costs nothing.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { spread } from '../lib/statistics.js'

/** The range of a disk, ms. Memory is below it. */
export const DISK_MS = /** @type {const} */ ([0.2, 10])
const WRITES = 200
/** Longest time to spend, ms. */
const LONGEST = 3_000

/** ms that a write of 4 KiB at the end of a file takes until it is durable: the median. @param {string} folder */
export const fsyncMs = (folder) => {
  const path = `${folder}/fsync.probe`
  const file = openSync(path, 'w')
  const page = Buffer.alloc(4_096, 1)
  /** @type {number[]} */
  const times = []
  const end = performance.now() + LONGEST
  try {
    while (times.length < WRITES && performance.now() < end) {
      const began = performance.now()
      writeSync(file, page)
      fdatasyncSync(file)
      times.push(performance.now() - began)
    }
  } finally {
    closeSync(file)
    rmSync(path)
  }
  return spread(times).median
}

/** Undefined: ratios that depend on the disk say something. @param {number} ms */
export const diskProblem = (ms) => {
  const [least, most] = DISK_MS
  if (ms < least) return `a write is durable after ${ms.toFixed(3)} ms: no disk is that fast, this is memory, or a cache. Name a folder on a disk: --folder`
  if (ms > most) return `a write is durable after ${ms.toFixed(1)} ms: the disk is too slow, or busy. Name another: --folder`
  return undefined
}
