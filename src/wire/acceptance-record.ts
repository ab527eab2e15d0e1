/**
 * The acceptance record of a worker: a few bytes of memory that the worker writes and the host reads, and that outlive the worker.
 *
 * record = delivery u32 | complement of the delivery u32 | when it was accepted f64, ms on the monotonic clock of the machine
 *
 * The complement tells a whole record from one that is being written.
 */

import { performance } from 'node:perf_hooks'
import { hrtime } from '../util/node-time.js'

export const RECORD_BYTES = 16
const COMPLEMENT = 4
const TIME = 8

export const writeRecord = (to: Buffer, delivery: number, at: number): void => {
  to.writeUInt32LE(delivery, 0)
  to.writeUInt32LE(~delivery >>> 0, COMPLEMENT)
  to.writeDoubleLE(at, TIME)
}

/** The last delivery accepted; 0: none, or the record cannot be read now. */
export const recordedDelivery = (record: Buffer): number => {
  const delivery = record.readUInt32LE(0)
  return record.readUInt32LE(COMPLEMENT) === ~delivery >>> 0 ? delivery : 0
}

export const recordedAt = (record: Buffer): number => record.readDoubleLE(TIME)

const SAMPLES = 3

/** What to add to `performance.now()` for a time that another process of this machine can compare with its own. */
export const monotonicOffset = (): number => {
  let offset = 0
  let narrowest = Number.POSITIVE_INFINITY
  // The first calls take long: the sample between the closest readings counts.
  for (let sample = 0; sample < SAMPLES; sample++) {
    const before = performance.now()
    const machine = Number(hrtime.bigint()) / 1e6
    const after = performance.now()
    if (after - before >= narrowest) continue
    narrowest = after - before
    offset = machine - (before + after) / 2
  }
  return offset
}
