import type { JobState, PoolEvents } from '../../src/pool/types.js'
import {
  MemoryLimitError,
  PoolClosedError,
  QueueFullError,
  SerializationError,
  SoftTimeLimitError,
  TimeLimitError,
  WorkerLostError,
  WorkerStartError,
} from '../../src/wire/errors.js'
import { MEMORY_LIMIT, type RunConfig } from './config.js'
import { ON_ITS_WAY } from './pipe.js'
import { isEndless, resultOf } from './plans.js'
import type { SimProcess } from './process.js'
import type { Beginning, Coverage, JobTruth, Truth } from './truth.js'
import type { World } from './world.js'

const GRACE = 1_000
const HEARTBEAT_TIMEOUT = 7_000
/** Sums of fractions of a millisecond. */
const EPSILON = 0.001

/** Holds what the pool says and does against what really happened. */
export class Judge {
  /** close() or terminate() was called. */
  ended = false
  terminated = false
  readonly #config: RunConfig
  readonly #world: World
  readonly #truth: Truth
  readonly #coverage: Coverage
  readonly #processes: Map<number, SimProcess>

  constructor(config: RunConfig, world: World, truth: Truth, coverage: Coverage, processes: Map<number, SimProcess>) {
    this.#config = config
    this.#world = world
    this.#truth = truth
    this.#coverage = coverage
    this.#processes = processes
    truth.onArrow = (job, from, to) => this.#arrow(job, from, to)
    truth.onSettled = (job) => this.#settled(job)
    truth.onBegin = (job, beginning) => this.#alone(job, beginning)
  }

  // ---- the arrows

  #arrow(job: JobTruth, from: JobState, to: JobState): void {
    const record = job.record!
    if (from === 'queued' && to === 'writing') {
      this.#inTurn(job)
      this.#demand(
        this.#processes.get(record.worker)?.killed === undefined,
        () => `promise 2: job ${job.number} was given to worker ${record.worker}, which the pool had killed`,
      )
    }
    if (to === 'queued' || to === 'lost') {
      const process = this.#processes.get(record.worker)
      if (from === 'writing' || from === 'written') {
        // Its pipes are closed when it is buried: before, a recall brought the job back, which is counted against nobody.
        if (to === 'queued' && process?.lifeline.destroyed) {
          job.putBacks++
          this.#demand(job.putBacks <= this.#config.maxPutBacks, () => `promise 2: job ${job.number} was put back ${job.putBacks} times`)
        }
        const begun = job.beginnings.find(({ worker, delivery }) => worker === record.worker && delivery === record.delivery)
        this.#demand(begun === undefined, () => `promise 1: job ${job.number} came back from worker ${record.worker}, where it had begun`)
      }
      if (from === 'accepted' && to === 'queued') job.retries++
      if (from === 'accepted' && process !== undefined && !process.broken && !this.terminated) {
        this.#demand(
          !process.main.answered.has(record.delivery),
          () => `promise 3: job ${job.number} counts as lost, and its answer lay whole in the pipe of worker ${record.worker}`,
        )
        this.#demand(!process.alive, () => `promise 3: job ${job.number} counts as lost, and worker ${record.worker} lives`)
      }
    }
  }

  /** What comes from the outbox is the first of those that wait. */
  #inTurn(job: JobTruth): void {
    const record = job.record!
    if (record.attempt > 1 || record.broadcast !== undefined) return
    for (const other of this.#truth.jobs.values()) {
      const waiting = other.record
      if (waiting === undefined || waiting === record || !waiting.inOutbox || waiting.state !== 'queued') continue
      const first = waiting.priority > record.priority || (waiting.priority === record.priority && waiting.number < record.number)
      this.#demand(!first, () => `promise 2: job ${job.number} was taken before job ${waiting.number}, which waits and comes first`)
    }
  }

  /** Who runs again is alone in its worker, but for what was cancelled there, until it has settled. */
  #alone(job: JobTruth, { worker, attempt }: Beginning): void {
    if (this.#config.concurrency === 1) return
    const again = ({ record }: JobTruth, at: number): boolean => at > 1 && record?.isSettled === false
    for (const other of this.#truth.jobs.values()) {
      const { running } = other
      if (other === job || running?.worker !== worker) continue
      const together = again(job, attempt) || again(other, running.attempt)
      this.#demand(!together, () => `promise 3: jobs ${job.number} and ${other.number} run together in worker ${worker}, where one runs again`)
    }
  }

  // ---- the outcomes

  #settled(job: JobTruth): void {
    const { outcome, record, plan } = job
    if (outcome === undefined || record === undefined || plan === undefined) return
    this.#world.say(`job ${job.number} settled: ${'value' in outcome ? 'a value' : String(outcome.error)}`)
    if ('value' in outcome) {
      this.#coverage.outcome('succeeded')
      this.#demand(record.state === 'succeeded', () => `promise 3: job ${job.number} resolved in state ${record.state}`)
      const last = job.beginnings.at(-1)
      const expected = resultOf(plan, last?.attempt ?? 0) as Record<string, unknown>
      const value = outcome.value as Record<string, unknown>
      const same = Object.keys(expected).every((key) => value?.[key] === expected[key])
      this.#demand(
        last?.endedAt !== undefined && same,
        () => `promise 7: job ${job.number} resolved with ${JSON.stringify(outcome.value)}, not with its own result`,
      )
      return
    }
    const { error } = outcome
    this.#coverage.outcome(error instanceof Error ? error.name : String(error))
    this.#demand(record.state !== 'succeeded', () => `promise 3: job ${job.number} rejected in state 'succeeded'`)
    const why = this.#unjustified(job, error)
    this.#demand(why === undefined, () => `promise 3: job ${job.number} (${plan.kind}, ${record.state}) rejected: ${why}: ${String(error)}`)
  }

  /** Why the job should not have been given up like this; undefined: it should. */
  #unjustified(job: JobTruth, error: unknown): string | undefined {
    const { plan, record } = job
    const last = job.beginnings.at(-1)
    const process = this.#processes.get(record!.worker)
    if (record!.state === 'cancelled' && !(error instanceof PoolClosedError)) return job.cancelledAt === undefined ? 'nobody cancelled it' : undefined
    if (error instanceof WorkerLostError) {
      if (error.accepted) return process === undefined || process.alive ? 'its worker lives' : this.#wronglyLost(job, process, error)
      if (job.beginnings.length > 0) return 'it had begun'
      return job.putBacks < this.#config.maxPutBacks ? `it was put back ${job.putBacks} times only` : undefined
    }
    if (error instanceof PoolClosedError) return this.terminated || (this.ended && job.refused) ? undefined : 'the pool was to finish it'
    if (error instanceof QueueFullError) return this.#config.maxQueue === undefined ? 'the queue is unbounded' : undefined
    if (error instanceof WorkerStartError) return this.#badStarts() < 3 ? 'starts did not fail' : undefined
    if (error instanceof TimeLimitError) return this.#early(last, process, record!.spec.hardLimit)
    if (error instanceof SoftTimeLimitError) return this.#early(last, process, record!.spec.softLimit)
    if (error instanceof MemoryLimitError) return process === undefined || process.fattest < MEMORY_LIMIT ? 'its worker is small' : undefined
    if (error instanceof SerializationError) return plan!.kind === 'unsendable' ? undefined : 'everything about it can be sent'
    if (error instanceof RangeError) return plan!.kind === 'throw' ? undefined : 'it threw nothing'
    return 'nothing explains it'
  }

  #wronglyLost(job: JobTruth, process: SimProcess, { reason, signal }: WorkerLostError): string | undefined {
    if (reason !== 'put back too often' && job.retries < job.retryLost) return `it was run again ${job.retries} times only`
    return reason === 'signal' && signal === 'SIGKILL' && process.killed !== undefined ? 'the pool killed its worker and does not say why' : undefined
  }

  /** A limit may only be held against a job that has really run that long, and had not answered by then. */
  #early(last: Beginning | undefined, process: SimProcess | undefined, limit: number): string | undefined {
    if (limit === 0) return 'it has no such limit'
    if (last === undefined || process === undefined) return 'it had not begun'
    if (this.#world.now - last.at < limit - EPSILON) return 'its time was not up'
    // What was on its way in a pipe that broke is lost.
    const answeredAt = process.broken ? undefined : process.main.answered.get(last.delivery)
    return answeredAt !== undefined && answeredAt < Math.min(last.at + limit - EPSILON, this.#world.now - ON_ITS_WAY)
      ? 'its answer was there before'
      : undefined
  }

  #badStarts(): number {
    return [...this.#processes.values()].filter(({ alive, main, killed }) => (!alive || killed !== undefined) && main.accepted === 0).length
  }

  // ---- the deaths

  /** Was the worker ended for a reason that held when it was ended? */
  exited({ worker, reason, expected }: PoolEvents['workerExit']): void {
    const process = this.#processes.get(worker)!
    this.#world.say(`worker ${worker} buried: ${reason}${expected ? ' (expected)' : ''}`)
    const { killed } = process
    if (expected || this.terminated || killed === undefined) return
    const { at, sinceBeat, silence } = killed
    const { standsSince } = process.main
    const alone = (holds: boolean): void =>
      this.#demand(holds || process.broken, () => `promise 10: worker ${worker} was killed without cause: ${reason} ${JSON.stringify(killed)}`)
    const frozen = HEARTBEAT_TIMEOUT - EPSILON
    // A beat that ends the silence while the host judges is still on its way.
    if (reason.includes('watchdog was silent')) alone(sinceBeat >= frozen || (sinceBeat < ON_ITS_WAY && silence >= frozen))
    else if (reason.startsWith('No HELLO'))
      alone(process.broken || process.helloAt === undefined || process.helloAt > process.startedAt + withinOf(reason) - ON_ITS_WAY)
    else if (reason.startsWith('No WORKER_UP'))
      alone(process.broken || process.upAt === undefined || process.upAt > process.helloAt! + withinOf(reason) - ON_ITS_WAY)
    else if (reason.includes('did not end within')) {
      const asked = ({ delivery }: Beginning): boolean => killed.deaf || process.watchdog.asked.has(delivery)
      alone(this.#heldUp(worker, at).some(({ job, beginning }) => at - this.#cancelledAt(job, at) >= GRACE - EPSILON && asked(beginning)))
    } else if (reason.includes('ran longer than')) {
      alone(this.#heldUp(worker, at).some(({ job, beginning, endedAt }) => endedAt - beginning.at >= limitOf(job) - ON_ITS_WAY))
    } else if (reason.includes('did not turn')) alone(process.watchdog.closed)
    else if (reason.includes('while no job ran')) alone(sinceBeat >= frozen || silence >= frozen || (standsSince !== undefined && at - standsSince >= frozen))
    else if (reason.includes('to be recycled'))
      // Or it stands still, and a host that stalls again and again has not been awake for long enough to call it silent.
      alone(this.#heldUp(worker, at).length > 0 || sinceBeat >= frozen || (standsSince !== undefined && at - standsSince >= frozen))
    else if (reason.includes('resident memory')) alone(process.fattest > MEMORY_LIMIT)
    else if (/pipe was closed|EPIPE|ECONNRESET|A frame of/.test(reason)) alone(process.broken || process.diedAt !== undefined)
    else alone(reason === 'signal' || reason === 'exit')
  }

  /** What had not been answered by a worker when it was killed, or a moment before: the answer may still have been on its way. */
  #heldUp(worker: number, at: number): { job: JobTruth; beginning: Beginning; endedAt: number }[] {
    return [...this.#truth.jobs.values()].flatMap((job) =>
      job.beginnings
        .map((beginning) => ({ job, beginning, endedAt: this.#processes.get(worker)?.main.answered.get(beginning.delivery) ?? at }))
        .filter(({ beginning, endedAt }) => beginning.worker === worker && endedAt >= at - ON_ITS_WAY),
    )
  }

  /** Of a stream it is not known when it was left. */
  #cancelledAt({ cancelledAt, record }: JobTruth, at: number): number {
    return cancelledAt ?? (record === undefined ? Number.NEGATIVE_INFINITY : at)
  }

  // ---- at the end

  /** Every promise about every job, once nothing moves any more. */
  verdicts(): void {
    for (const job of this.#truth.jobs.values()) {
      const { record, number, beginnings, plan } = job
      const most = 1 + job.retryLost
      this.#demand(beginnings.length <= most, () => `promise 3: job ${number} began ${beginnings.length} times, ${most} may be`)
      if (record === undefined || plan === undefined) continue
      this.#demand(job.settled === 1, () => `promise 3: job ${number} (${plan.kind}) is ${record.state} and settled ${job.settled} times`)
      const began = beginnings.length > 0
      this.#demand(job.beganTold !== undefined, () => `promise 1: nobody was told whether job ${number} began`)
      if (began) this.#demand(job.beganTold === true, () => `promise 1: job ${number} began, and its caller was told that it did not`)
      this.#demand(!(record.state === 'succeeded' && isEndless(plan)), () => `promise 5: job ${number} succeeded, and never ends`)
    }
    for (const { id, main } of this.#processes.values()) {
      const most = this.#config.maxJobsPerWorker ?? Number.POSITIVE_INFINITY
      this.#demand(main.accepted <= most, () => `promise 11: worker ${id} accepted ${main.accepted} jobs, ${most} may be`)
    }
  }

  #demand(holds: boolean, what: () => string): void {
    this.#truth.demand(holds, what)
  }
}

const withinOf = (reason: string): number => Number(/within (\d+) ms/.exec(reason)?.[1])
const limitOf = ({ record }: JobTruth): number => {
  const spec = record?.spec
  if (spec === undefined) return Number.POSITIVE_INFINITY
  return spec.hardLimit > 0 ? spec.hardLimit : spec.softLimit > 0 ? spec.softLimit : Number.POSITIVE_INFINITY
}
