import { FLAG_PLACED, noteStamp } from '../../../wire/arena/place.js'
import { PlaceReader } from '../../../wire/arena/place-reader.js'
import { PlaceWriter } from '../../../wire/arena/place-writer.js'
import { flagsOf } from '../../../wire/frame.js'
import type { FrameSink } from '../../../wire/frame-reader.js'
import type { SharedMemory } from '../launch/launcher.js'

/** The memory that one worker shares with the host, as the host uses it: large arguments that it writes, large results that it reads. */
export class JobPlaces {
  /** Its keys are deliveries. */
  readonly jobs: PlaceWriter
  readonly #results: PlaceReader
  readonly #memory: SharedMemory
  /** At the last `rest`, and when the memory was last given back. */
  #deliveriesBefore = 0
  #deliveriesAtTrim = 0

  /** `maxFrame`: bytes of the body of a frame. */
  constructor(memory: SharedMemory, maxFrame: number) {
    this.#memory = memory
    this.jobs = new PlaceWriter(memory.jobs, memory.capacity, memory.from)
    this.#results = new PlaceReader(memory.results, memory.capacity, maxFrame)
  }

  /** Completes the frames that come by place. `onRead`: one was read, which takes longer than other frames. */
  complete(sink: FrameSink, onRead: () => void): FrameSink {
    return (bytes, start, end) => {
      if ((flagsOf(bytes, start) & FLAG_PLACED) === 0) {
        sink(bytes, start, end)
        return
      }
      const whole = this.#results.complete(bytes, start, end, 0)
      // The worker may use that memory again.
      noteStamp(this.#memory.jobs, this.#results.stamp)
      onRead()
      sink(whole, 0, whole.length)
    }
  }

  /** The worker's main thread has read the arguments of this delivery, and so of all before it. */
  taken(delivery: number): void {
    this.jobs.freeUpTo(delivery)
  }

  /** The deliveries after `claimed`, up to `upTo`, were taken back, and are never read. Where later ones lie behind them, their acceptance frees all (`taken`). */
  takenBack(claimed: number, upTo: number): void {
    this.jobs.freeBetween(claimed, upTo)
  }

  /**
   * Called from time to time. Gives the memory back to the system when the worker has been idle since the last call.
   *
   * @param isIdle no job is in the worker, so nothing is in use
   * @param deliveries jobs written to the worker so far: any of them may have used the memory
   */
  rest(isIdle: boolean, deliveries: number): void {
    if (isIdle && this.jobs.empty && deliveries === this.#deliveriesBefore && deliveries !== this.#deliveriesAtTrim) {
      this.#deliveriesAtTrim = deliveries
      this.#memory.trim()
    }
    this.#deliveriesBefore = deliveries
  }

  close(): void {
    this.#memory.close()
  }
}
