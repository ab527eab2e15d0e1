import type { WorkerStats } from '../../pool/types.js'

/** The part of a worker's statistics that is read. */
export type WorkerSample = Pick<WorkerStats, 'id' | 'state' | 'running' | 'cpu' | 'stalled'>

interface Measured {
  /** As last told, ms. */
  cpu: number
  at: number
  /** Looks since, those among them that found a job running, and the jobs that these found. */
  looks: number
  busy: number
  jobs: number
  /** CPU time in each ms of busy time; undefined: not known for the jobs of now. */
  share: number | undefined
}

/** Looks that must have found a job running before the CPU time of a worker says something. */
const LEAST_BUSY = 2
/** Where a job holds its thread for so much of its time, it leaves no room for another. */
const HOLDS = 0.5
/** What was seen so long ago counts little, ms. */
const MEMORY = 30_000

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
  #fadedAt = 0

  /** `cpus`: those that the node may use. */
  constructor(cpus: number) {
    this.#cpus = cpus
  }

  /** To be called at each look, with the workers that are up. */
  look(workers: readonly WorkerSample[], now: number): void {
    this.#fade(now)
    const seen = new Set<number>()
    for (const worker of workers) {
      if (worker.cpu === undefined) continue
      seen.add(worker.id)
      this.#lookAt(worker, worker.cpu, now)
    }
    for (const id of this.#measured.keys()) if (!seen.has(id)) this.#measured.delete(id)
  }

  #fade(now: number): void {
    const factor = Math.exp((this.#fadedAt - now) / MEMORY)
    this.#fadedAt = now
    this.#computed.time *= factor
    this.#computed.jobs *= factor
    this.#held.beats *= factor
    this.#held.jobs *= factor
  }

  #lookAt({ id, running, stalled }: WorkerSample, cpu: number, now: number): void {
    const known = this.#measured.get(id)
    if (known === undefined) {
      this.#measured.set(id, { cpu, at: now, looks: 0, busy: 0, jobs: 0, share: undefined })
      return
    }
    known.looks++
    known.jobs += running
    if (running > 0) known.busy++
    if (cpu === known.cpu) return
    const busyTime = (now - known.at) * (known.busy / known.looks)
    const used = cpu - known.cpu
    // What an idle worker used, for its heartbeats and what its modules do, says nothing about jobs.
    known.share = known.busy < LEAST_BUSY ? undefined : Math.min(1, used / busyTime)
    if (known.busy > 0) {
      this.#cpu += used
      this.#busy += busyTime
      this.#computed.time += used
      this.#computed.jobs += (now - known.at) * (known.jobs / known.looks)
    }
    // A job that held the thread at the heartbeat may have ended since.
    const isHeld = stalled > 0
    if (isHeld) this.#held.beats++
    this.#held.jobs += isHeld ? Math.max(1, running) : running
    this.#measured.set(id, { cpu, at: now, looks: 0, busy: 0, jobs: 0, share: known.share })
  }

  /** CPUs that the workers use now. A job whose CPU time is not known yet counts as the others do; where none is known, as one that computes. */
  used(workers: readonly WorkerSample[]): number {
    const running = workers.filter((worker) => worker.running > 0)
    const shares = running.flatMap(({ id }) => this.#measured.get(id)?.share ?? [])
    const known = shares.reduce((sum, share) => sum + share, 0)
    return shares.length === 0 ? running.length : known * (running.length / shares.length)
  }

  /** Whether another worker finds a CPU that the workers leave free; of a single CPU, half. */
  isFree(workers: readonly WorkerSample[]): boolean {
    return this.used(workers) <= Math.max(this.#cpus - 1, this.#cpus / 2)
  }

  /** Workers that so many jobs need at once: `concurrency` of them share a worker, or fewer where they compute or hold its main thread otherwise. */
  needed(jobs: number, concurrency: number): number {
    const computes = this.#computed.jobs === 0 ? 0 : this.#computed.time / this.#computed.jobs
    const holds = this.#held.jobs === 0 ? 0 : this.#held.beats / this.#held.jobs
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
    return `The workers used ${Math.round(cpuShare * 100)} % of the time of ${jobs} jobs as CPU time: these tasks mostly wait. Where they await (HTTP, SQL) and do not block their thread, one worker can run several at once: 'concurrency' (--concurrency), for example 10. Jobs that share a worker share its death.`
  }
}
