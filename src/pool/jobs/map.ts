import { countFrom, flag, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { Deque } from '../../util/deque.js'
import { namesOf, type OptionTable, option, readKnown } from '../../util/option-table.js'
import { mapCutShort } from '../errors.js'
import type { MapOptions } from '../types.js'
import { callFunctions } from './calls.js'
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

/** Validates the arguments of `pool.map`. Throws TypeError. */
export const readMapOptions = (name: string, source: unknown, given: unknown, defaultAhead: number): { ordered: boolean; ahead: number; run: object } => {
  const iterable = source as Partial<Iterable<unknown> & AsyncIterable<unknown>> | null | undefined
  if (typeof iterable?.[Symbol.asyncIterator] !== 'function' && (typeof iterable?.[Symbol.iterator] !== 'function' || typeof source === 'string')) {
    throw new TypeError(`pool.map wants an iterable of argument arrays: pool.map('${nameText(name)}', [[1], [2], [3]]).`)
  }
  const options = plainObject('options', given ?? {}, NAMES)
  refuseUnknownNames(`pool.map('${nameText(name)}', …)`, options, NAMES)
  const { ordered, concurrency = defaultAhead } = readKnown(OWN_OPTIONS, options)
  // The submission of each job checks the other options.
  const { ordered: _, concurrency: __, ...run } = options
  // Bound here, the functions run in the async context of the caller.
  if (run.calls !== undefined) run.calls = callFunctions('calls', run.calls)
  return { ordered, ahead: concurrency, run }
}

/** Items taken from the source in one turn of the host's event loop, at most. */
const AT_ONCE = 128

interface Failure {
  error: unknown
}

/** The part of the queue (`maxQueue`) that a map uses. */
export interface MapCapacity {
  readonly full: boolean
  ready(): Promise<void>
  /** Resolves when the host's event loop has turned. */
  nextTurn(): Promise<void>
  /** Calls `aborted` when the caller's signal aborts, and `closed` when the pool closes. Returns the function that stops these calls. */
  watch?(aborted: (reason: unknown) => void, closed: () => void): () => void
}

/**
 * Runs a task over each argument array of the source, with `ahead` results outstanding at most: the source is pulled only when there is
 * room. A job's error, the caller's signal or the consumer's `break` cancels the running jobs and closes the source. If the source
 * fails or the pool closes, the map takes no further input: the results of the jobs submitted so far come first, then the error.
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
      // Awaited here, so that the error of the job shows the frames of the code that awaits the map.
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
  /** undefined: the source has not begun or has ended, or its `return()` was called. */
  #iterator: Iterator<unknown> | AsyncIterator<unknown> | undefined
  /** No further input is taken from the source. */
  #sourceEnded = false
  #pulling = false
  readonly #unsettled = new Set<JobRecord>()
  /** Ordered: all jobs, in the order of submission. Unordered: the settled jobs, in the order of settlement. */
  readonly #next = new Deque<JobRecord>()
  #submitted = 0
  /** Jobs submitted whose results have not been yielded. */
  #outstanding = 0
  #wake: (() => void) | undefined
  #closing: Promise<void> | undefined
  /** Resolves when the jobs that were asked to end have settled. */
  #cancelled: Promise<unknown> | undefined
  /** Ends the wait for the source's `return()`. */
  #release: (() => void) | undefined
  readonly #released = new Promise<void>((resolve) => {
    this.#release = resolve
  })
  /** The caller's signal has aborted: thrown at once. */
  aborted: Failure | undefined
  /** The source has failed, or the pool was closed before the end of the source. Thrown after the results of all submitted jobs. */
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
        // The jobs have the signal as well: it cancels them.
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
      // The source has ended by itself, so its return() must not be called.
      this.#iterator = undefined
      throw error
    }
  }

  /** Takes no further input from the source; the jobs go on. */
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
      // The map fails at once, even if the consumer is busy with an earlier result, and also in ordered mode.
      this.failed = job
      this.end()
    }
    this.#changed()
  }

  #changed(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  /**
   * Cancels the jobs and closes the source. Waits for the jobs that were asked to end. Waits for the source to close, unless the source is busy, the signal
   * has aborted or the pool closes.
   */
  async end(): Promise<void> {
    if (!this.ended) {
      this.ended = true
      this.#closing ??= this.#close()
      for (const job of this.#unsettled) if (!job.isSettled) job.cancel(new DOMException('pool.map has ended.', 'AbortError'))
      const asked = [...this.#unsettled].filter((job) => !job.isSettled)
      if (asked.length > 0) this.#cancelled = Promise.all(asked.map((job) => job.settled))
      this.#changed()
    }
    await Promise.race([this.#closing, this.#released])
    if (this.#cancelled !== undefined) await this.#cancelled
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
