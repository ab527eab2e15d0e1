import type { AcceptanceRecord, SharedMemory } from '../../src/pool/worker/launch/launcher.js'
import { FIRST_PAGE, type SharedFile } from '../../src/wire/arena/shared-file.js'
import { JOB_HEAD } from '../../src/wire/frame.js'
import { ResultPlaces } from '../../src/worker/io/places.js'
import type { Coverage } from './history.js'
import type { ProcessSettings } from './process.js'
import type { World } from './world.js'

/** How the workers of a run share memory with the host. */
export interface MemorySettings {
  /** Bytes in each direction; 0: none. */
  readonly capacity: number
  /** The smallest payload that goes through it, bytes. */
  readonly from: number
  /** Share of writes for which there is no memory, 0 to 1. */
  readonly failures: number
}

/** A file in memory, of which nothing is known where it was not written: what is freed by mistake is read as garbage. */
const simFile = (size: number, mayFail: () => boolean, onPlace: () => void): SharedFile & { spoil(): void } => {
  const bytes = Buffer.alloc(size, 0xdd)
  return {
    write: (parts, position, length) => {
      const isPlace = position >= FIRST_PAGE
      if (isPlace) onPlace()
      const fails = isPlace && mayFail()
      let at = position
      for (const part of parts) {
        // A write that fails may have written a part.
        if (fails && at > position) return false
        bytes.set(part, at)
        at += part.length
      }
      return !fails && at - position === length
    },
    read: (parts, position, length) => {
      let at = position
      for (const part of parts) at += bytes.copy(part, 0, at, at + part.length)
      return at - position === length
    },
    spoil: () => bytes.fill(0xdd, FIRST_PAGE),
  }
}

/** The host's end of an acceptance record. */
export class SimRecord implements AcceptanceRecord {
  readonly offset = 0
  isClosed = false
  recorded: { delivery: number; at: number } | undefined

  read(): { delivery: number; at: number } | undefined {
    return this.recorded
  }

  close(): void {
    this.isClosed = true
  }
}

/** What one worker shares with the host. */
export interface SimFiles {
  readonly record: SimRecord | undefined
  readonly memory: SimMemory | undefined
}

export const openFiles = (world: World, coverage: Coverage, { record, memory, maxMessageSize }: ProcessSettings): SimFiles => ({
  record: record ? new SimRecord() : undefined,
  memory: memory.capacity > 0 ? new SimMemory(world, coverage, memory, maxMessageSize + JOB_HEAD) : undefined,
})

/** The memory that one simulated worker shares with the host. */
export class SimMemory implements SharedMemory {
  readonly jobs: SharedFile
  readonly results: SharedFile
  readonly capacity: number
  readonly from: number
  /** The worker's side. */
  readonly places: ResultPlaces
  isClosed = false
  /** Places were written since it was given back. */
  isUsed = false
  readonly #spoil: () => void

  constructor({ random }: World, coverage: Coverage, { capacity, from, failures }: MemorySettings, maxBytes: number) {
    this.capacity = capacity
    this.from = from
    const mayFail = (): boolean => {
      const fails = random.chance(failures)
      if (fails) coverage.fault('no shared memory is left')
      return fails
    }
    const onPlace = (name: string) => () => {
      coverage.fault(name)
      this.isUsed = true
    }
    const jobs = simFile(FIRST_PAGE + capacity, mayFail, onPlace('arguments by place (no fault)'))
    const results = simFile(FIRST_PAGE + capacity, mayFail, onPlace('a result by place (no fault)'))
    this.jobs = jobs
    this.results = results
    this.places = new ResultPlaces(jobs, results, capacity, maxBytes, from)
    this.#spoil = () => {
      this.isUsed = false
      coverage.fault('shared memory given back (no fault)')
      jobs.spoil()
      results.spoil()
    }
  }

  trim(): void {
    this.#spoil()
  }

  close(): void {
    this.isClosed = true
  }
}
