import { closeSync, ftruncateSync, statfsSync } from 'node:fs'
import { PLACED_FROM } from '../../../wire/arena/place.js'
import { FIRST_PAGE, type SharedFile, sharedFile } from '../../../wire/arena/shared-file.js'
import { type FileRecord, MEMORY, openUnnamed } from './acceptance-record.js'
import type { SharedMemory } from './launcher.js'

/** The type of file systems that are memory (statfs(2)). */
const TMPFS = 0x01021994
/** One pool takes one of so many parts of the file system at most: others use it, too, and a full one makes their programs fail. */
const PARTS = 4
/** A worker whose part is smaller uses pipes alone, bytes. */
const LEAST = 128 * 1024

/** Bytes for the arguments of one worker, and as many for its results; 0: none. `total`: for all workers of the pool. */
export const placeBytes = (total: number, workers: number, directory = MEMORY): number => {
  if (total === 0 || process.platform !== 'linux') return 0
  try {
    const { type, bsize, blocks } = statfsSync(directory)
    if (type !== TMPFS) return 0
    const each = Math.min(total, (bsize * blocks) / PARTS) / workers / 2
    return each < LEAST ? 0 : Math.min(LARGEST, Math.floor(each / FIRST_PAGE) * FIRST_PAGE)
  } catch {
    return 0
  }
}

/** A position has 32 bits. */
const LARGEST = 0x8000_0000

/** The memory of all workers of a pool. */
export class PoolMemory {
  #open = 0

  /** `capacity`: bytes in each direction for one worker. `most`: workers that may have memory at the same time; others use the pipes. */
  constructor(
    readonly capacity: number,
    readonly most: number,
  ) {}

  /** Undefined: there is no record, no descriptor is left, or all of the memory is given away. */
  open(record: FileRecord | undefined): FileMemory | undefined {
    if (record === undefined || this.capacity === 0 || this.#open >= this.most) return undefined
    const fd = openUnnamed()
    if (fd === undefined) return undefined
    this.#open++
    return new FileMemory(fd, record.fd, this.capacity, () => this.#open--)
  }
}

/** The host's end of the memory that one worker shares with it: two files without names, that of the record and one more. The first is closed by the record. */
export class FileMemory implements SharedMemory {
  readonly jobs: SharedFile
  readonly results: SharedFile
  readonly from = PLACED_FROM
  readonly #recordFd: number
  readonly #onClose: () => void
  #closed = false

  constructor(
    readonly fd: number,
    recordFd: number,
    readonly capacity: number,
    onClose: () => void,
  ) {
    this.jobs = this.#whileOpen(sharedFile(fd))
    this.results = this.#whileOpen(sharedFile(recordFd))
    this.#recordFd = recordFd
    this.#onClose = onClose
  }

  /** The number of a closed descriptor may be that of another file. */
  #whileOpen({ write, read }: SharedFile): SharedFile {
    return {
      write: (parts, position, bytes) => !this.#closed && write(parts, position, bytes),
      read: (parts, position, bytes) => !this.#closed && read(parts, position, bytes),
    }
  }

  trim(): void {
    if (this.#closed) return
    try {
      for (const fd of [this.fd, this.#recordFd]) ftruncateSync(fd, FIRST_PAGE)
    } catch {
      // The application has closed a descriptor that is not its own.
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    closeSync(this.fd)
    this.#onClose()
  }
}
