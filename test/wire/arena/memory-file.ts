import { FIRST_PAGE, type SharedFile } from '../../../src/wire/arena/shared-file.js'

/** A file in memory. Where it was not written it holds 0xdd. */
export class MemoryFile implements SharedFile {
  readonly bytes: Buffer
  /** Writes and reads so far, in order. */
  readonly calls: string[] = []
  /** Writes fail: no memory is left. */
  isFull = false

  constructor(capacity = 200_000) {
    this.bytes = Buffer.alloc(FIRST_PAGE + capacity, 0xdd)
  }

  write(parts: readonly Uint8Array[], position: number, bytes: number): boolean {
    this.calls.push(`write ${position}`)
    if (this.isFull) return false
    const all = Buffer.concat(parts)
    return all.copy(this.bytes, position) === bytes
  }

  read(parts: readonly Uint8Array[], position: number, bytes: number): boolean {
    this.calls.push(`read ${position}`)
    let at = position
    for (const part of parts) at += this.bytes.copy(part, 0, at, at + part.length)
    return at - position === bytes
  }
}
