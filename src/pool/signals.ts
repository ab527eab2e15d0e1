import type { JobRecord } from './job.js'

/** One listener per AbortSignal, however many jobs hang on it: a signal shared by a whole server stays cheap and warns of no leak. */
export class SignalBoard {
  readonly #jobs = new Map<AbortSignal, { jobs: Set<JobRecord>; listener: () => void }>()
  readonly #cancel: (job: JobRecord, reason: unknown) => void

  constructor(cancel: (job: JobRecord, reason: unknown) => void) {
    this.#cancel = cancel
  }

  /** The job is cancelled when the signal aborts; returns what undoes it. */
  watch(signal: AbortSignal, job: JobRecord): () => void {
    let entry = this.#jobs.get(signal)
    if (entry === undefined) {
      const jobs = new Set<JobRecord>()
      const listener = (): void => {
        this.#jobs.delete(signal)
        for (const each of [...jobs]) this.#cancel(each, signal.reason)
      }
      entry = { jobs, listener }
      this.#jobs.set(signal, entry)
      signal.addEventListener('abort', listener, { once: true })
    }
    entry.jobs.add(job)
    const { jobs, listener } = entry
    return () => {
      jobs.delete(job)
      if (jobs.size > 0) return
      signal.removeEventListener('abort', listener)
      if (this.#jobs.get(signal)?.jobs === jobs) this.#jobs.delete(signal)
    }
  }
}
