import { countFrom, flag, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { Deque } from '../../util/deque.js'
import { namesOf, type OptionTable, option, readKnown } from '../../util/option-table.js'
import { mapCutShort } from '../errors.js'
import type { MapOptions } from '../types.js'
import type { JobRecord } from './job.js'
import { BROADCAST_OPTIONS } from './run-options.js'
import { nameText } from './submission.js'

/** The options that only `map` has. */
const OWN_OPTIONS = {
  ordered: option('boolean', flag, true, 'the results come in the order of the source'),
  concurrency: option('jobs', countFrom(1), undefined, 'the most jobs that are outstanding at once', '2 x workers x `concurrency`'),
}

export const MAP_OPTIONS = { ...OWN_OPTIONS, ...BROADCAST_OPTIONS } satisfies OptionTable<MapOptions>

const NAMES = namesOf(MAP_OPTIONS)

export type Source = Iterable<unknown> | AsyncIterable<unknown>

/** Validates what `pool.map` was given. Throws TypeError. */
export const readMapOptions = (name: string, source: unknown, given: unknown, defaultAhead: number): { ordered: boolean; ahead: number; run: object } => {
  const iterable = source as Partial<Iterable<unknown> & AsyncIterable<unknown>> | null | undefined
  if (typeof iterable?.[Symbol.asyncIterator] !== 'function' && (typeof iterable?.[Symbol.iterator] !== 'function' || typeof source === 'string')) {
    throw new TypeError(`pool.map wants an iterable of argument arrays: pool.map('${nameText(name)}', [[1], [2], [3]]).`)
  }
  const options = plainObject('options', given ?? {})
  refuseUnknownNames(`pool.map('${nameText(name)}', …)`, options, NAMES)
  const { ordered, concurrency = defaultAhead } = readKnown(OWN_OPTIONS, options)
  // Each job's call checks the others.
  const { ordered: _, concurrency: __, ...run } = options
  return { ordered, ahead: concurrency, run }
}

/** Items taken from the source in one turn of the host's event loop, at most. */
const AT_ONCE = 128

interface Failure {
  error: unknown
}

/** What a map needs to know of the queue (`maxQueue`). */
export interface MapCapacity {
  readonly full: boolean
  ready(): Promise<void>
  /** Resolves when the host's event loop has turned. */
  nextTurn(): Promise<void>
  /** Calls `aborted` when the caller's signal aborts, and `closed` when the pool closes. Returns the function that ends that. */
  watch?(aborted: (reason: unknown) => void, closed: () => void): () => void
}

/**
 * Runs a task over each argument array of the source, with `ahead` results outstanding at most: the source is pulled only when there is
 * room. A job's error, the caller's signal or the consumer's `break` cancels what runs and closes the source. If the source fails or the
 * pool closes, nothing more is taken: the results of the jobs submitted so far come first, then the error.
 */
export const mapJobs = (
  submit: (args: unknown) => JobRecord,
  source: Source,
  ordered: boolean,
  ahead: number,
  capacity?: MapCapacity,
): AsyncGenerator<unknown, void, undefined> => {
  const run = new MapRun(submit, source, ordered, ahead, capacity)
  const results = iterate(run)
  // The generator's own return() and throw() would wait for the result that its next() waits for.
  const leave = results.return.bind(results)
  const fail = results.throw.bind(results)
  // Defined, not assigned: its prototype may be frozen.
  Object.defineProperties(results, {
    return: own((value: undefined) => {
      run.end()
      return leave(value)
    }),
    throw: own((error: unknown) => {
      run.end()
      return fail(error)
    }),
  })
  return results
}

const own = (value: unknown): PropertyDescriptor => ({ value, writable: true, configurable: true })

async function* iterate(run: MapRun): AsyncGenerator<unknown, void, undefined> {
  const undo = run.watch()
  try {
    for (;;) {
      run.pull()
      if (run.aborted !== undefined) throw run.aborted.error
      // Awaited here, so that its error shows the frames of the code that awaits this.
      if (run.failed !== undefined) await run.failed.result
      if (run.ended) return
      const job = run.take()
      if (job !== undefined) {
        const value = await job.result
        run.pull()
        yield value
      } else if (run.exhausted) {
        if (run.cutShort !== undefined) throw run.cutShort.error
        return
      } else await run.change()
    }
  } finally {
    await run.end()
    undo?.()
  }
}

/** One run of a map. It adds one reaction to each job's promise, so that a long job does not collect reactions. */
class MapRun {
  readonly #submit: (args: unknown) => JobRecord
  readonly #source: Source
  readonly #ordered: boolean
  readonly #ahead: number
  readonly #capacity: MapCapacity | undefined
  /** undefined: not begun, at its end, or its `return()` was called. */
  #iterator: Iterator<unknown> | AsyncIterator<unknown> | undefined
  /** Nothing more is taken from the source. */
  #sourceEnded = false
  #pulling = false
  readonly #unsettled = new Set<JobRecord>()
  /** Ordered: all jobs, as they were submitted. Unordered: those that have settled, as they did. */
  readonly #next = new Deque<JobRecord>()
  #submitted = 0
  /** Jobs submitted whose results have not been yielded. */
  #outstanding = 0
  #wake: (() => void) | undefined
  #closing: Promise<void> | undefined
  /** Ends the wait for the source's `return()`. */
  #release: (() => void) | undefined
  readonly #released = new Promise<void>((resolve) => {
    this.#release = resolve
  })
  /** The caller's signal has aborted: thrown at once. */
  aborted: Failure | undefined
  /** The source has failed, or the pool was closed before its end: thrown after the results of all jobs submitted. */
  cutShort: Failure | undefined
  /** The first job that has not succeeded. */
  failed: JobRecord | undefined
  ended = false

  constructor(submit: (args: unknown) => JobRecord, source: Source, ordered: boolean, ahead: number, capacity: MapCapacity | undefined) {
    this.#submit = submit
    this.#source = source
    this.#ordered = ordered
    this.#ahead = ahead
    this.#capacity = capacity
  }

  /** Ends the map when the caller's signal aborts or the pool closes, even if the source never yields or closes. */
  watch(): (() => void) | undefined {
    return this.#capacity?.watch?.(
      (error) => {
        this.#release?.()
        // The jobs have the signal as well.
        if (this.#sourceEnded || this.ended) return
        this.aborted = { error }
        this.end()
      },
      () => {
        this.#release?.()
        this.#cut(mapCutShort(this.#submitted))
      },
    )
  }

  /** All results have been yielded. */
  get exhausted(): boolean {
    return this.#sourceEnded && this.#outstanding === 0
  }

  /** The next job whose result is to be yielded, if it has settled. */
  take(): JobRecord | undefined {
    if (!this.#next.peek()?.isSettled) return undefined
    this.#outstanding--
    return this.#next.shift()
  }

  /** Resolves when a job has settled, or the source has changed. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Fetches from the source while there is room. */
  pull(): void {
    if (this.#pulling || this.ended || this.#sourceEnded || this.#outstanding >= this.#ahead) return
    this.#pulling = true
    this.#fetch()
      .catch((error) => this.#cut(error))
      .finally(() => {
        this.#pulling = false
        this.#changed()
      })
  }

  async #fetch(): Promise<void> {
    const source = this.#source
    this.#iterator ??= Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
    const iterator = this.#iterator
    let taken = 0
    while (this.#taking && this.#outstanding < this.#ahead) {
      const step = await this.#step(iterator)
      if (step.done) {
        this.#iterator = undefined
        this.#sourceEnded = true
        return
      }
      while (this.#taking && this.#capacity?.full) await this.#capacity.ready()
      if (this.#taking) this.#add(step.value)
      // A source that never waits must not block the host's event loop.
      if (++taken % AT_ONCE === 0) await this.#capacity?.nextTurn()
    }
  }

  get #taking(): boolean {
    return !this.ended && !this.#sourceEnded
  }

  async #step(iterator: Iterator<unknown> | AsyncIterator<unknown>): Promise<IteratorResult<unknown>> {
    try {
      const step = await iterator.next()
      if (Object(step) !== step) throw new TypeError(`The source of pool.map: its next() must return an object, { done, value }; it returned ${String(step)}.`)
      return step
    } catch (error) {
      // It has ended by itself: its return() is not to be called.
      this.#iterator = undefined
      throw error
    }
  }

  /** Takes nothing more from the source; the jobs go on. */
  #cut(error: unknown): void {
    if (!this.#taking) return
    this.cutShort = { error }
    this.#sourceEnded = true
    this.#closing = this.#close()
    this.#changed()
  }

  #add(args: unknown): void {
    const job = this.#submit(args)
    this.#submitted++
    this.#outstanding++
    this.#unsettled.add(job)
    if (this.#ordered) this.#next.push(job)
    job.settled.then(() => this.#settled(job))
  }

  #settled(job: JobRecord): void {
    this.#unsettled.delete(job)
    if (this.ended) return
    if (!this.#ordered) this.#next.push(job)
    if (job.state !== 'succeeded') {
      // At once, even if the consumer is busy with an earlier result, and whatever the order.
      this.failed = job
      this.end()
    }
    this.#changed()
  }

  #changed(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  /** Cancels the jobs and closes the source. Waits until that is closed, but not for a busy source, an aborted signal or a closing pool. */
  async end(): Promise<void> {
    if (!this.ended) {
      this.ended = true
      this.#closing ??= this.#close()
      for (const job of this.#unsettled) if (!job.isSettled) job.cancel(new DOMException('pool.map has ended.', 'AbortError'))
      this.#changed()
    }
    await Promise.race([this.#closing, this.#released])
  }

  async #close(): Promise<void> {
    const iterator = this.#iterator
    this.#iterator = undefined
    if (iterator === undefined) return
    try {
      const closed = Promise.resolve(iterator.return?.())
      // A source that is still busy with its last item must not keep the caller waiting.
      if (this.#pulling) closed.catch(() => {})
      else await closed
    } catch {
      // The error that ended the map is thrown instead.
    }
  }
}
