import { count, flag, knownNames } from './checks.js'
import type { JobRecord } from './job.js'
import type { MapOptions } from './types.js'

const NAMES = [
  'ordered',
  'concurrency',
  'timeLimit',
  'softTimeLimit',
  'signal',
  'priority',
  'retryLost',
  'context',
] as const satisfies readonly (keyof MapOptions)[]

export type Source = Iterable<unknown> | AsyncIterable<unknown>

/** Validates what `pool.map` was given. Throws TypeError. */
export const readMapOptions = (name: string, source: unknown, given: unknown, defaultAhead: number): { ordered: boolean; ahead: number; run: object } => {
  const iterable = source as Partial<Iterable<unknown> & AsyncIterable<unknown>> | null | undefined
  if (typeof iterable?.[Symbol.asyncIterator] !== 'function' && (typeof iterable?.[Symbol.iterator] !== 'function' || typeof source === 'string')) {
    throw new TypeError(`pool.map wants an iterable of argument arrays: pool.map('${name}', [[1], [2], [3]]).`)
  }
  const options = (given ?? {}) as MapOptions
  knownNames(`pool.map('${name}', …)`, options, NAMES)
  const { ordered = true, concurrency, ...run } = options
  flag('ordered', ordered)
  return { ordered, ahead: concurrency === undefined ? defaultAhead : count('concurrency', concurrency, 1), run }
}

interface Outcome {
  job: JobRecord
  value: unknown
}

/**
 * Runs a task over each argument array of the source, `ahead` jobs outstanding at the most: the source is pulled only when
 * there is room. The first error, or the consumer's `break`, cancels what runs and closes the source.
 */
export async function* mapJobs(
  submit: (args: unknown) => JobRecord,
  source: Source,
  ordered: boolean,
  ahead: number,
): AsyncGenerator<unknown, void, undefined> {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  const outstanding = new Set<JobRecord>()
  /** Settled or not, in order of submission. */
  const inOrder: Promise<Outcome>[] = []
  const racing = new Map<JobRecord, Promise<Outcome>>()
  let pulling: Promise<IteratorResult<unknown>> | undefined
  let sourceEnded = false
  let finished = false

  const add = (args: unknown): void => {
    const job = submit(args)
    outstanding.add(job)
    const outcome = job.result.then((value) => ({ job, value }))
    outcome.catch(() => {})
    if (ordered) inOrder.push(outcome)
    else racing.set(job, outcome)
  }
  const pull = (): Promise<void> => {
    pulling ??= Promise.resolve(iterator.next())
    return pulling.then((step) => {
      pulling = undefined
      if (step.done) sourceEnded = true
      else if (!finished) add(step.value)
    })
  }

  try {
    for (;;) {
      const waiting = ordered ? inOrder.length : racing.size
      const mayPull = !sourceEnded && waiting < ahead
      if (waiting === 0) {
        if (sourceEnded) return
        await pull()
        continue
      }
      const next = ordered ? inOrder[0]! : Promise.race(racing.values())
      // A failure further back ends the whole at once, whatever the order of the results.
      const failed = ordered ? Promise.race(inOrder.map((each) => each.then(() => new Promise<never>(() => {})))) : undefined
      const candidates: Promise<Outcome | undefined>[] = [next]
      if (failed !== undefined) candidates.push(failed)
      if (mayPull) candidates.push(pull().then(() => undefined))
      const outcome = await Promise.race(candidates)
      if (outcome === undefined) continue
      outstanding.delete(outcome.job)
      if (ordered) inOrder.shift()
      else racing.delete(outcome.job)
      yield outcome.value
    }
  } finally {
    finished = true
    for (const job of outstanding) if (!job.isSettled) job.cancel(new DOMException('pool.map has ended.', 'AbortError'))
    if (!sourceEnded) await closeSource(iterator)
  }
}

const closeSource = async (iterator: Iterator<unknown> | AsyncIterator<unknown>): Promise<void> => {
  try {
    // A source that is still busy with its last item must not keep the caller waiting.
    Promise.resolve(iterator.return?.()).catch(() => {})
  } catch {
    // The error that ended the map is the one to be seen.
  }
}
