/** The worker's ends of the jobs pipe, of the results pipe and of the acceptance record. */

import { writeSync, writevSync } from 'node:fs'
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net'
import { MAX_TIMER } from '../../util/limits.js'
import { monotonic, setInterval } from '../../util/node-time.js'
import { RECORD_BYTES, writeRecord } from '../../wire/acceptance-record.js'
import { guardedFile } from '../../wire/arena/shared-file.js'
import { FD_JOBS, FD_RECORD, FD_RESULTS } from '../../wire/messages.js'
import type { AcceptanceRecorder } from '../jobs/loop-options.js'
import type { WriteChunks } from './frame-output.js'

const READ_BYTES = 64 * 1024

/** Reads the jobs pipe from the start and always, so that QUIT and PULL never wait behind a job. `receive` is called from within the native read callback. */
export const readJobs = (receive: (chunk: Buffer) => void): void => {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  // Past the stream layer: one buffer for all reads, and no chunk to allocate.
  const onread: OnReadOpts = {
    buffer,
    callback: (size) => {
      receive(size === buffer.length ? buffer : buffer.subarray(0, size))
      return true
    },
  }
  // (The types know `onread` only where a socket connects.)
  const options: SocketConstructorOpts & { onread: OnReadOpts } = { fd: FD_JOBS, readable: true, writable: false, onread }
  const socket = new Socket(options)
  // The end of this pipe does not end the process: the end of the lifeline does. Until then a timer keeps the process alive.
  socket.on('error', () => {})
  socket.on('close', () => setInterval(() => {}, MAX_TIMER))
}

/**
 * Writes results with synchronous calls on a descriptor that was never opened as a stream, so that it stays blocking:
 * when it returns the bytes are in the kernel, and a host that reads slowly slows this thread instead of filling its memory.
 */
export const resultsPipe = (onGone: (error: NodeJS.ErrnoException) => void, fd = FD_RESULTS): WriteChunks => {
  const writeOne = (chunk: Uint8Array): void => {
    let at = 0
    while (at < chunk.length) at += writeSync(fd, chunk, at, chunk.length - at)
  }
  const writeMany = (chunks: readonly Uint8Array[]): void => {
    let written = writevSync(fd, chunks)
    for (const chunk of chunks) {
      if (written >= chunk.length) written -= chunk.length
      else {
        writeOne(written === 0 ? chunk : chunk.subarray(written))
        written = 0
      }
    }
  }
  return (chunks) => {
    try {
      if (chunks.length === 1) writeOne(chunks[0]!)
      else writeMany(chunks)
    } catch (error) {
      // EPIPE: the host's end is closed. After any other error, too, a frame may be written in part, and what followed would be unreadable.
      onGone(error as NodeJS.ErrnoException)
      throw error
    }
  }
}

/** The acceptance record. What was written is in the kernel, and the host finds it there whatever becomes of this process. */
export const acceptanceRecord = (fd = FD_RECORD): AcceptanceRecorder => {
  const bytes = Buffer.alloc(RECORD_BYTES)
  const parts = [bytes]
  const file = guardedFile(fd)
  let usable = true
  return {
    now: monotonic,
    record: (delivery, at) => {
      if (!usable) return false
      writeRecord(bytes, delivery, at)
      usable = file.write(parts, 0, RECORD_BYTES)
      return usable
    },
  }
}
