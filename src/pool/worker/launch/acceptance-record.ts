import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { monotonic } from '../../../util/node-time.js'
import { RECORD_BYTES, recordedAt, recordedDelivery } from '../../../wire/acceptance-record.js'
import type { AcceptanceRecord } from './launcher.js'

/** File systems in memory, on Linux. */
export const MEMORY = '/dev/shm'
/** Linux: makes a file without a name in a directory; it is gone when its last descriptor is closed (open(2)). Node names O_DIRECTORY alone, whose number depends on the processor. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY
/** How often a record that is just being written is read again. */
const TRIES = 3

const bytes = Buffer.alloc(RECORD_BYTES)
/** No delivery was recorded. */
const EMPTY = Buffer.alloc(RECORD_BYTES)

const SAMPLES = 3

/** The machine's monotonic clock, on which workers record, less the hub's. */
const monotonicOffset = (): number => {
  let offset = 0
  let narrowest = Number.POSITIVE_INFINITY
  // The first calls take long: the sample between the closest readings counts.
  for (let sample = 0; sample < SAMPLES; sample++) {
    const before = performance.now()
    const machine = monotonic()
    const after = performance.now()
    if (after - before >= narrowest) continue
    narrowest = after - before
    offset = machine - (before + after) / 2
  }
  return offset
}

let knownOffset: number | undefined

/** A file in memory that has no name. Undefined: there is no such file system, no descriptor is left, no memory, or the permission to write is missing. */
export const openUnnamed = (directory = MEMORY): number | undefined => {
  if (process.platform !== 'linux') return undefined
  let fd: number | undefined
  try {
    fd = openSync(directory, constants.O_RDWR | O_TMPFILE, 0o600)
    // Takes the memory of the first page now: a later write there cannot fail for want of it.
    writeSync(fd, EMPTY, 0, RECORD_BYTES, 0)
    return fd
  } catch {
    if (fd !== undefined) closeSync(fd)
    return undefined
  }
}

/** The host's end of an acceptance record: a file in memory that has no name. `fd` is for the worker. */
export class FileRecord implements AcceptanceRecord {
  #closed = false

  private constructor(readonly fd: number) {}

  /** Measured once in a process, and not before a start: it takes 0.2 ms. */
  get offset(): number {
    knownOffset ??= monotonicOffset()
    return knownOffset
  }

  /** Undefined: there is no `/dev/shm`, no descriptor is left, or the permission to write is missing. Then the worker announces every job by ACCEPTED. */
  static open(directory = MEMORY): FileRecord | undefined {
    const fd = openUnnamed(directory)
    return fd === undefined ? undefined : new FileRecord(fd)
  }

  read(): { delivery: number; at: number } | undefined {
    if (this.#closed) return undefined
    for (let tries = 0; tries < TRIES; tries++) {
      if (readSync(this.fd, bytes, 0, RECORD_BYTES, 0) < RECORD_BYTES) return undefined
      const delivery = recordedDelivery(bytes)
      if (delivery > 0) return { delivery, at: recordedAt(bytes) - this.offset }
    }
    return undefined
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    closeSync(this.fd)
  }
}
