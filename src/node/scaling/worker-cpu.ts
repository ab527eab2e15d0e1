import type { WorkerStats } from '../../pool/types.js'

/** The part of a worker's statistics that is read. */
export type WorkerSample = Pick<WorkerStats, 'id' | 'state' | 'running' | 'cpu' | 'stalled'>

interface Measured {
  /** CPU time as last told, ms. */
  told: number
  /** CPU time at the time from which on it is measured. */
  readonly cpu: number
  readonly at: number
  /** Looks since, those among them that found a job running, and the jobs that these found. */
  looks: number
  busy: number
  jobs: number
  /** CPU time in each ms of busy time; undefined: not known for the jobs of now. */
  share: number | undefined
}

/** A worker must have had jobs for so long before its CPU time says something about them, ms. */
const LEAST_BUSY = 500
/** Where a job holds its thread for so much of its time, it leaves no room for another. */
const HOLDS = 0.3
/** A main thread that has not turned for so long is held by a long job, ms. */
const LONG_HELD = 250
/** What was seen so long ago counts little, ms. */
const MEMORY = 5_000
/** About as long ago are the starts beside which the CPU time was used that heartbeats tell, ms. */
const STARTS_COUNT = 1_000
/** So much of all CPUs is all of them. */
const NEARLY = 0.9

/** What the CPU time of the workers, which their heartbeats carry, says about the jobs that they run. Times in ms on one monotonic clock. */
export class WorkerCpu {
  readonly #measured = new Map<number, Measured>()
  readonly #cpus: number
  /** Together, since the first look. */
  #cpu = 0
  #busy = 0
  /** Lately: CPU time, and time of the jobs that it was used for. */
  readonly #computed = { time: 0, jobs: 0 }
  /** Lately: heartbeats that found the main thread held, and the jobs that ran at heartbeats. */
  readonly #held = { beats: 0, jobs: 0 }
  #decayedAt = 0
  /** Workers that started lately, on average. */
  #starts = 0
  #startsAt = 0

  /** `cpus`: those that the node may use. */
  constructor(cpus: number) {
    this.#cpus = cpus
  }

  /** To be called at each look, with the workers that are up. */
  look(workers: readonly WorkerSample[], now: number): void {
    this.#decay(now)
    const seen = new Set<number>()
    for (const worker of workers) {
      if (worker.cpu === undefined) continue
      seen.add(worker.id)
      this.#lookAt(worker, worker.cpu, now)
    }
    for (const id of this.#measured.keys()) if (!seen.has(id)) this.#measured.delete(id)
  }

  #decay(now: number): void {
    const factor = Math.exp((this.#decayedAt - now) / MEMORY)
    this.#decayedAt = now
    this.#computed.time *= factor
    this.#computed.jobs *= factor
    this.#held.beats *= factor
    this.#held.jobs *= factor
  }

  #lookAt({ id, running, stalled }: WorkerSample, cpu: number, now: number): void {
    const known = this.#measured.get(id)
    if (known === undefined) {
      this.#measured.set(id, { told: cpu, cpu, at: now, looks: 0, busy: 0, jobs: 0, share: undefined })
      return
    }
    known.looks++
    known.jobs += running
    if (running > 0) known.busy++
    if (cpu === known.told) return
    known.told = cpu
    // A job that held the thread at the heartbeat may have ended since.
    const isHeld = stalled > 0
    if (isHeld) this.#held.beats++
    this.#held.jobs += isHeld ? Math.max(1, running) : running
    const time = now - known.at
    const busyTime = (time * known.busy) / known.looks
    // What an idle worker used, for its heartbeats and what its modules do, says nothing about jobs. Looks and heartbeats come at different times.
    if (known.busy > 0 && busyTime < LEAST_BUSY) {
      known.share = undefined
      return
    }
    const used = cpu - known.cpu
    if (known.busy > 0) {
      this.#cpu += used
      this.#busy += busyTime
      this.#computed.time += used
      this.#computed.jobs += (time * known.jobs) / known.looks
    }
    this.#measured.set(id, { told: cpu, cpu, at: now, looks: 0, busy: 0, jobs: 0, share: known.busy === 0 ? undefined : Math.min(1, used / busyTime) })
  }

  /** CPUs that the workers use now. A job whose CPU time is not known yet counts as the others do; where none is known, as one that computes. */
  used(workers: readonly WorkerSample[]): number {
    const running = workers.filter((worker) => worker.running > 0)
    const shares = running.flatMap(({ id }) => this.#measured.get(id)?.share ?? [])
    const known = shares.reduce((sum, share) => sum + share, 0)
    return shares.length === 0 ? running.length : known * (running.length / shares.length)
  }

  /** So many workers start now: they compute, too, and jobs beside them get less. */
  noteStarting(starting: number, now: number): void {
    this.#starts += (starting - this.#starts) * (1 - Math.exp((this.#startsAt - now) / STARTS_COUNT))
    this.#startsAt = now
  }

  /** Whether another worker finds a CPU that the workers leave free; of a single CPU, half. */
  isFree(workers: readonly WorkerSample[]): boolean {
    const used = this.used(workers)
    // Where starts took the rest, the jobs may want more than they got.
    return used <= Math.max(this.#cpus - 1, this.#cpus / 2) && used + this.#starts <= this.#cpus * NEARLY
  }

  /**
   * Workers that so many jobs need at once: `concurrency` of them share a worker, or fewer where they compute or hold its main thread otherwise. A main thread
   * that is held now for long leaves the jobs beside it to the others.
   */
  needed(jobs: number, concurrency: number, workers: readonly WorkerSample[]): number {
    const held = workers.filter(({ running, stalled }) => running > 0 && stalled >= LONG_HELD)
    const inOthers = Math.max(0, jobs - held.reduce((sum, { running }) => sum + running, 0))
    return Math.max(held.length + Math.ceil(inOthers / concurrency), this.#neededByKind(jobs, concurrency))
  }

  #neededByKind(jobs: number, concurrency: number): number {
    const computes = this.#computed.jobs === 0 ? 0 : this.#computed.time / this.#computed.jobs
    // As if one more had been seen to hold its thread: too many workers are kept rather than too few while little is known.
    const holds = (this.#held.beats + 1) / (this.#held.jobs + 1)
    const partOfWorker = Math.max(computes, holds)
    return Math.ceil(jobs * (partOfWorker >= HOLDS ? 1 : Math.max(1 / concurrency, partOfWorker)))
  }

  /** CPU time for each ms in which a worker had jobs, since the first look; undefined: nothing was measured yet. */
  get shareOfBusyTime(): number | undefined {
    return this.#busy === 0 ? undefined : this.#cpu / this.#busy
  }
}

/** Jobs after which the CPU time says what kind of tasks a node runs. */
const JOBS = 100
/** Tasks that used less of their time as CPU time mostly wait. */
const WAITS_BELOW = 0.1

/** Says once that the tasks of a node mostly wait. */
export class ConcurrencyAdvice {
  #given = false

  /** `jobs`: that have ended. `cpuShare`: CPU time for each ms in which a worker had a job; undefined: not known. Undefined: there is nothing to say. */
  text(jobs: number, cpuShare: number | undefined): string | undefined {
    if (this.#given || jobs < JOBS || cpuShare === undefined || cpuShare >= WAITS_BELOW) return undefined
    this.#given = true
    return `The workers used ${Math.round(cpuShare * 100)} % of the time of ${jobs} jobs as CPU time: these tasks mostly wait. Where they await (HTTP, SQL), and neither block their thread nor wait for a process of their own, one worker can run several at once: 'concurrency' (--concurrency), for example 10. Jobs that share a worker share its death.`
  }
}
