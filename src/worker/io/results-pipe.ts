import { writeSync, writevSync } from 'node:fs'
import { FD_RESULTS } from '../../wire/messages.js'
import type { WriteChunks } from './frame-output.js'

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
      // EPIPE: nobody reads any more. Whatever else it is, frames after a partial write would be garbage.
      onGone(error as NodeJS.ErrnoException)
      throw error
    }
  }
}
