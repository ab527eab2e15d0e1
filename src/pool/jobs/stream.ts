import { Deque } from '../../util/deque.js'
import type { ItemSink, ItemSource, JobRecord } from './job.js'

/** Credit: how much a worker may send ahead of the consumer. */
const ITEMS = 16
const BYTES = 1024 * 1024

/** The consumer's end of a stream task. The worker gets new credit as items are taken: a slow consumer slows the generator, and the pipe is always read. */
export class StreamConsumer<I> implements AsyncIterableIterator<I>, ItemSink {
  readonly #start: () => JobRecord
  readonly #sourceOf: (job: JobRecord) => ItemSource | undefined
  #job: JobRecord | undefined
  readonly #items = new Deque<{ value: I; bytes: number }>()
  /** Items taken since the last credit. */
  #takenItems = 0
  #takenBytes = 0
  /** Calls of next() that wait, in order. */
  readonly #waiting: (() => void)[] = []
  #ended = false
  #over = false

  constructor(start: () => JobRecord, sourceOf: (job: JobRecord) => ItemSource | undefined) {
    this.#start = start
    this.#sourceOf = sourceOf
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The job was accepted: the worker gets its first credit. */
  grant(source: ItemSource, job: JobRecord): void {
    source.pull(job.delivery, ITEMS, BYTES)
  }

  item(value: unknown, bytes: number): void {
    this.#items.push({ value: value as I, bytes })
    this.#waiting.shift()?.()
  }

  async next(): Promise<IteratorResult<I, undefined>> {
    if (this.#over) return { done: true, value: undefined }
    if (this.#job === undefined) {
      const job = this.#start()
      this.#job = job
      job.settled.then(() => {
        this.#ended = true
        for (const wake of this.#waiting.splice(0)) wake()
      })
    }
    const job = this.#job
    while (this.#items.size === 0 && !this.#ended) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    if (this.#over) return { done: true, value: undefined }
    const item = this.#items.shift()
    if (item !== undefined) {
      this.#took(job, item.bytes)
      return { done: false, value: item.value }
    }
    this.#over = true
    await job.result
    return { done: true, value: undefined }
  }

  /** `break`: the job is cancelled, and the generator's `finally` runs. With `cancel: 'ask'` it resolves when the job has settled, which is after that. */
  async return(): Promise<IteratorResult<I, undefined>> {
    this.#over = true
    this.#items.drain()
    this.#job?.result.catch(() => {})
    this.#job?.cancel(new DOMException('The consumer of the stream has stopped.', 'AbortError'))
    if (this.#job?.isSettled === false) await this.#job.settled
    return { done: true, value: undefined }
  }

  async throw(error?: unknown): Promise<IteratorResult<I, undefined>> {
    await this.return()
    throw error
  }

  #took(job: JobRecord, bytes: number): void {
    this.#takenItems++
    this.#takenBytes += bytes
    if (this.#takenItems < ITEMS / 2 && this.#takenBytes < BYTES / 2) return
    if (job.isSettled || job.state !== 'accepted') return
    this.#sourceOf(job)?.pull(job.delivery, this.#takenItems, this.#takenBytes)
    this.#takenItems = 0
    this.#takenBytes = 0
  }
}
