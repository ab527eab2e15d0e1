/** The tasks of the benchmark. All processes of a machine share the clock of their stamps. */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const ROUND = 10_000
const cell = new Int32Array(new SharedArrayBuffer(4))

const now = () => Number(process.hrtime.bigint()) / 1e6

/** @param {string} file @param {number} n @param {number} began */
const stamp = (file, n, began) => appendFileSync(file, `${JSON.stringify({ n, pid: process.pid, began, ended: now() })}\n`)

export const noop = () => {}

/** @param {number} ms */
export const wait = (ms) => sleep(ms)

/** Blocks its thread without computing. @param {string} file of the stamps @param {number} n @param {number} ms */
export const block = (file, n, ms) => {
  const began = now()
  Atomics.wait(cell, 0, 0, ms)
  stamp(file, n, began)
}

/** Uses so much CPU, however long that takes. @param {string} file of the stamps @param {number} n @param {number} ms */
export const compute = (file, n, ms) => {
  const began = now()
  const before = process.cpuUsage()
  let sum = 0
  for (let spent = 0; spent < 1_000 * ms; ) {
    for (let index = 0; index < ROUND; index++) sum += Math.sqrt(index)
    const { user, system } = process.cpuUsage(before)
    spent = user + system
  }
  stamp(file, n, began)
  return sum
}
