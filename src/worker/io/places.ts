import { PLACED_FROM, readStamp } from '../../wire/arena/place.js'
import { PlaceReader } from '../../wire/arena/place-reader.js'
import { PlaceWriter } from '../../wire/arena/place-writer.js'
import type { SharedFile } from '../../wire/arena/shared-file.js'

/** The memory in which the host puts large arguments: it writes that file alone, this process reads it. */
export class ResultPlaces {
  /** Of the jobs that come by place. */
  readonly jobs: PlaceReader
  readonly #results: PlaceWriter
  readonly #jobsFile: SharedFile

  /** `capacity`: bytes in each direction. `maxBytes`: of the frame of a job. `from`: the smallest result that is put there. */
  constructor(jobs: SharedFile, results: SharedFile, capacity: number, maxBytes: number, from = PLACED_FROM) {
    this.jobs = new PlaceReader(jobs, capacity, maxBytes)
    this.#results = new PlaceWriter(results, capacity, from)
    this.#jobsFile = jobs
  }

  get from(): number {
    return this.#results.from
  }

  /** Every result that was put here has been read. */
  get empty(): boolean {
    this.#free()
    return this.#results.empty
  }

  /** False: the payload must go through the pipe. */
  write(parts: readonly Uint8Array[], bytes: number): boolean {
    this.#free()
    return this.#results.write(parts, bytes)
  }

  #free(): void {
    if (this.#results.empty) return
    const read = readStamp(this.#jobsFile)
    if (read !== undefined) this.#results.freeUpToStamp(read)
  }

  describe(to: Buffer, at: number): void {
    this.#results.describe(to, at)
  }
}
