/**
 * The acceptance record of a worker: a few bytes of memory that the worker writes and the host reads, and that outlive the worker.
 *
 * record = delivery u32 | complement of the delivery u32 | when it was accepted f64, ms on the monotonic clock of the machine
 *
 * The complement tells a whole record from one that is being written.
 */

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
