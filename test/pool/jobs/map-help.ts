import type { JobRecord } from '../../../src/pool/jobs/job.js'
import { type MapCapacity, mapJobs, type Source } from '../../../src/pool/jobs/map.js'
import { failed, makeJob, succeeded } from './jobs.js'

/** Resolves once all reactions that are due have run. */
export const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export interface MapSetUp {
  ordered?: boolean
  ahead?: number
  /** A job that is cancelled settles later. */
  asks?: boolean
  capacity?: MapCapacity
  /** Settles each job at once with this. */
  answer?: (args: unknown) => unknown
}

/** A map over jobs that the test settles itself. */
export class MapBench {
  readonly jobs: JobRecord[] = []
  readonly args: unknown[] = []
  readonly cancelled: number[] = []
  readonly results: AsyncGenerator<unknown, void, undefined>

  constructor(source: Source, { ordered = true, ahead = 3, asks = false, capacity, answer }: MapSetUp = {}) {
    const submit = (args: unknown): JobRecord => {
      const job = makeJob(this.jobs.length, { asks }, (each) => this.cancelled.push(each.number))
      this.jobs.push(job)
      this.args.push(args)
      if (answer !== undefined) job.settle(succeeded(answer(args)))
      return job
    }
    this.results = mapJobs(submit, source, ordered, ahead, capacity)
  }

  succeed(index: number, value: unknown = `result ${index}`): void {
    this.jobs[index]!.settle(succeeded(value))
  }

  fail(index: number, error: unknown): void {
    this.jobs[index]!.settle(failed(error))
  }

  /** The next result, noted when it comes. */
  next(): Noted {
    return new Noted(this.results.next())
  }
}

/** A queue that is never full; the test aborts the caller's signal, and closes the pool. */
export class FakeCapacity implements MapCapacity {
  readonly full = false
  watched = false
  abort: (reason: unknown) => void = () => {}
  close: () => void = () => {}

  ready(): Promise<void> {
    return Promise.resolve()
  }

  nextTurn(): Promise<void> {
    return quiet()
  }

  watch(aborted: (reason: unknown) => void, closed: () => void): () => void {
    this.watched = true
    this.abort = aborted
    this.close = closed
    return () => {
      this.watched = false
    }
  }
}

/** A promise whose outcome can be read. */
export class Noted {
  /** undefined: pending. */
  outcome: { value?: unknown; done?: boolean; error?: unknown } | undefined
  constructor(promise: Promise<IteratorResult<unknown, unknown>>) {
    promise.then(
      ({ value, done }) => {
        this.outcome = done ? { done } : { value }
      },
      (error) => {
        this.outcome = { error }
      },
    )
  }
}

/** An async source whose items come from the test, and that lists the calls of its methods. */
export class HandSource implements AsyncIterableIterator<unknown> {
  pulls = 0
  returns = 0
  readonly #waiting: { resolve: (step: IteratorResult<unknown>) => void; reject: (error: unknown) => void }[] = []

  next(): Promise<IteratorResult<unknown>> {
    this.pulls++
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.returns++
    return { done: true, value: undefined }
  }

  async give(args: unknown): Promise<void> {
    this.#waiting.shift()!.resolve({ done: false, value: args })
    await quiet()
  }

  async end(): Promise<void> {
    this.#waiting.shift()!.resolve({ done: true, value: undefined })
    await quiet()
  }

  async fail(error: unknown): Promise<void> {
    this.#waiting.shift()!.reject(error)
    await quiet()
  }
}

export const collect = async (results: AsyncIterable<unknown>): Promise<unknown[]> => {
  const all: unknown[] = []
  for await (const each of results) all.push(each)
  return all
}

/** An endless source of 0, 1, 2 …; counts the items taken and the calls of `return()`. */
export const endless = (): { source: AsyncGenerator<unknown>; taken: () => number; returned: () => number } => {
  let taken = 0
  let returned = 0
  const source = (async function* () {
    try {
      for (;;) yield [taken++]
    } finally {
      returned++
    }
  })()
  return { source, taken: () => taken, returned: () => returned }
}
