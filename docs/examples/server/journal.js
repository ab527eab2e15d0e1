// The recent events for the page: deaths of workers with their cause and replacement, and jobs that did not succeed.
import { describe } from './http.js'

const KEEP = 80
// These errors end the worker as well as the job, shortly before or after it.
const FATAL = new Set(['ERR_PREFORK_TIME_LIMIT', 'ERR_PREFORK_MEMORY_LIMIT'])
const TOGETHER = 2_000

export class Journal {
  entries = []
  #next = 1
  #unreplaced = [] // entries of deaths without a replacement, oldest first
  #startedEarly = [] // workers started to replace one that has not exited yet
  #replacing = new Map() // worker id → the entry of the death that it replaces
  #publish

  /** @param workers how many the pool keeps; @param publish is called with each entry, and again with the same id when the entry changes */
  constructor(pool, workers, publish) {
    this.#publish = publish
    pool.on('workerStart', ({ worker, pid }) => {
      // The first workers replace none.
      if (pool.stats().totals.workersStarted > workers) this.#started(worker, pid)
    })
    pool.on('workerUp', ({ worker, pid, ms }) => this.#up(worker, pid, ms))
    pool.on('workerExit', (event) => this.#exited(event))
    pool.on('workerFault', ({ worker, type, error }) => this.#add({ kind: 'fault', worker, title: type, error: describe(error) }))
    pool.on('jobRetried', ({ name, attempt }) => this.#add({ kind: 'retry', title: `${name} runs again`, detail: `attempt ${attempt}: its worker died` }))
    pool.on('jobSettled', (event) => this.#settled(event))
  }

  #exited({ worker, pid, exitCode, signal, reason, expected, jobs }) {
    const limitEntry = this.entries.findLast((entry) => entry.worker === worker && entry.fatal && Date.now() - entry.time < TOGETHER)
    const death = {
      kind: expected && !limitEntry ? 'recycled' : 'death',
      worker,
      pid,
      cause: signal ?? (exitCode === null ? reason : `exit code ${exitCode}`),
      reason: limitEntry?.error.message ?? reason,
      jobs: jobs.length,
      diedAt: performance.now(),
    }
    const replacement = this.#startedEarly.shift()
    if (replacement) Object.assign(death, { replacement: replacement.worker, newPid: replacement.pid, after: replacement.up ? 0 : undefined })
    const entry = this.#add(death)
    if (!replacement) this.#unreplaced.push(entry)
    else if (!replacement.up) this.#replacing.set(replacement.worker, entry)
  }

  #started(worker, pid) {
    const entry = this.#unreplaced.shift()
    if (!entry) return this.#startedEarly.push({ worker, pid, up: false })
    this.#replacing.set(worker, entry)
    this.#publish(Object.assign(entry, { replacement: worker, newPid: pid }))
  }

  #up(worker, pid, ms) {
    const early = this.#startedEarly.find((one) => one.worker === worker)
    if (early) early.up = true
    const entry = this.#replacing.get(worker)
    this.#replacing.delete(worker)
    if (!entry) return this.#add({ kind: 'up', worker, pid, title: `worker ${worker} is up`, detail: `pid ${pid}, started in ${Math.round(ms)} ms` })
    this.#publish(Object.assign(entry, { replacement: worker, newPid: pid, after: Math.round(performance.now() - entry.diedAt) }))
  }

  #settled({ name, state, worker, ms, error }) {
    if (state === 'succeeded') return
    const described = describe(error)
    const fatal = FATAL.has(described.code)
    if (fatal) {
      const death = this.entries.findLast((entry) => entry.worker === worker && entry.diedAt)
      if (death) this.#publish(Object.assign(death, { kind: 'death', reason: described.message }))
    }
    const title = `${name} ${state}`
    const last = this.entries.at(-1)
    if (!fatal && last?.title === title && last.error?.name === described.name && Date.now() - last.time < 5_000) {
      this.#publish(Object.assign(last, { times: (last.times ?? 1) + 1 }))
      return
    }
    this.#add({ kind: 'job', title, state, worker, fatal, ms: Math.round(ms), error: described })
  }

  #add(entry) {
    Object.assign(entry, { id: this.#next++, time: Date.now() })
    this.entries.push(entry)
    if (this.entries.length > KEEP) this.entries.shift()
    this.#publish(entry)
    return entry
  }
}
