// The minimal worker in Node: it writes ACCEPTED of a job before the job begins, in one synchronous write with the READY of the job before,
// and sends the job's bytes back. Jobs on descriptor 3, results on descriptor 4.
import { writeSync, writevSync } from 'node:fs'
import { Socket } from 'node:net'
import { ACCEPTED, Cutter, FRAME_HEAD, JOB_HEAD, LENGTH_BYTES, putHead, READY } from './node-frames.js'

const RESULTS = 4
/** Results up to this size are copied behind their head, which is cheaper than a gathered write, bytes. */
const COPY_LIMIT = 8 * 1_024
const staging = Buffer.allocUnsafeSlow(2 * FRAME_HEAD + COPY_LIMIT)
const none = Buffer.alloc(0)

/** @type {{ bytes: Buffer, start: number, end: number }[]} */
const held = []

/** @param {Buffer} bytes @param {number} size */
const writeAll = (bytes, size) => {
  let at = 0
  while (at < size) at += writeSync(RESULTS, bytes, at, size - at)
}

/** @param {Buffer[]} parts */
const writeParts = (parts) => {
  let rest = parts
  while (rest.length > 0) {
    let sent = writevSync(RESULTS, rest)
    const next = []
    for (const part of rest) {
      if (sent >= part.length) sent -= part.length
      else {
        next.push(sent > 0 ? part.subarray(sent) : part)
        sent = 0
      }
    }
    rest = next
  }
}

/** Writes READY of `job` with its payload (-1: none) and ACCEPTED of `next` (-1: none) in one write. */
const put = (/** @type {number} */ job, /** @type {Buffer} */ payload, /** @type {number} */ next) => {
  let at = 0
  if (job >= 0) {
    putHead(staging, 0, FRAME_HEAD - LENGTH_BYTES + payload.length, READY, job)
    at = FRAME_HEAD
    if (payload.length > COPY_LIMIT) {
      const accepted = staging.subarray(FRAME_HEAD, 2 * FRAME_HEAD)
      if (next >= 0) putHead(accepted, 0, FRAME_HEAD - LENGTH_BYTES, ACCEPTED, next)
      writeParts(next >= 0 ? [staging.subarray(0, FRAME_HEAD), payload, accepted] : [staging.subarray(0, FRAME_HEAD), payload])
      return
    }
    if (payload.length > 0) at += payload.copy(staging, at)
  }
  if (next >= 0) {
    putHead(staging, at, FRAME_HEAD - LENGTH_BYTES, ACCEPTED, next)
    at += FRAME_HEAD
  }
  writeAll(staging, at)
}

const run = () => {
  let done = -1
  /** @type {Buffer} */
  let result = none
  for (const { bytes, start, end } of held) {
    const job = bytes.readDoubleLE(start + 12)
    put(done, result, job)
    done = job
    result = end - start > JOB_HEAD ? bytes.subarray(start + JOB_HEAD, end) : none
  }
  held.length = 0
  if (done >= 0) put(done, result, -1)
}

const cutter = new Cutter((bytes, start, end) => {
  held.push({ bytes, start, end })
})
const jobs = new Socket({ fd: 3 })
jobs.on('data', (/** @type {Buffer} */ chunk) => {
  cutter.push(chunk)
  run()
})
jobs.on('close', () => process.exit(0))
