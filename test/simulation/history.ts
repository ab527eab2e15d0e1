import type { JobRecord } from '../../src/pool/jobs/job.js'
import type { JobState } from '../../src/pool/types.js'
import type { Plan } from './plans.js'
import type { World } from './world.js'

/** One execution of a job in a worker, as recorded by its task. */
export interface Execution {
  readonly worker: number
  readonly delivery: number
  readonly attempt: number
  /** ms */
  readonly beganAt: number
  endedAt: number | undefined
}

/** What really happened to one job, independent of what the pool reports. */
export class JobHistory {
  readonly executions: Execution[] = []
  record: JobRecord | undefined
  plan: Plan | undefined
  retryLost = 0
  settled = 0
  /** Rejected by its submission. */
  refused = false
  outcome: { value: unknown } | { error: unknown } | undefined
  /** The pool's report whether the job began. */
  reportedBegan: boolean | undefined
  /** When the script cancelled it first, ms. */
  cancelledAt: number | undefined
  cancelReason: unknown
  /** When its process may be ended, ms, if it runs; each cancellation may bring that nearer. */
  graceEndsAt: number | undefined
  /** It was cancelled when it may have begun, and settles once its task has ended (`cancel: 'ask'`). Its attempt then. */
  askedAttempt: number | undefined
  /** The key of its plan, once its task has begun. */
  key: number | undefined
  /** The number of workers that died while they held the job unaccepted. A job that a recall returned before does not count. */
  putBacks = 0
  /** The number of further attempts after a loss. */
  retries = 0

  constructor(readonly number: number) {}

  get running(): Execution | undefined {
    const last = this.executions.at(-1)
    return last?.endedAt === undefined ? last : undefined
  }
}

/** The state changes of a job that the pool may make. */
const JOB_TRANSITIONS = [
  'queued → writing',
  'writing → written',
  'writing → accepted',
  'written → accepted',
  'writing → queued',
  'written → queued',
  'accepted → queued',
  'accepted → succeeded',
  'accepted → failed',
  'accepted → cancelled',
  'accepted → lost',
  'queued → cancelled',
  'writing → cancelled',
  'written → cancelled',
  'queued → failed',
  'queued → lost',
  'writing → lost',
  'written → lost',
] as const

/** The mode changes of a worker that the pool may make. The pool has its own table, in src/pool/worker/lifecycle.ts. */
const WORKER_TRANSITIONS = [
  'starting → up',
  'starting → retiring',
  'starting → dead',
  'up → draining',
  'up → retiring',
  'up → dead',
  'draining → retiring',
  'draining → dead',
  'retiring → dead',
] as const

/** Counts over all runs: each transition, outcome and fault. */
export class Coverage {
  readonly jobTransitions = new Map<string, number>(JOB_TRANSITIONS.map((transition) => [transition, 0]))
  readonly workerTransitions = new Map<string, number>(WORKER_TRANSITIONS.map((transition) => [transition, 0]))
  readonly faults = new Map<string, number>()
  readonly outcomes = new Map<string, number>()
  /** By how they settled in the task. */
  readonly calls = new Map<string, number>()
  runs = 0
  steps = 0
  jobs = 0
  executions = 0

  fault(name: string): void {
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1)
  }

  outcome(name: string): void {
    this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1)
  }

  call(name: string): void {
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1)
  }

  /** The transitions that no run has made. */
  get missing(): string[] {
    return [...this.jobTransitions, ...this.workerTransitions].filter(([, times]) => times === 0).map(([transition]) => transition)
  }

  report(): string {
    const table = (title: string, counts: Map<string, number>): string =>
      `${title}\n${[...counts].map(([name, times]) => `  ${name.padEnd(34)} ${String(times).padStart(9)}`).join('\n')}`
    return [
      `${this.runs} runs, ${this.steps} steps, ${this.jobs} jobs, ${this.executions} executions`,
      table('transitions of jobs', this.jobTransitions),
      table('transitions of workers', this.workerTransitions),
      table('outcomes', this.outcomes),
      table('calls of tasks', this.calls),
      table('faults', this.faults),
    ].join('\n')
  }
}

/** What really happened in one run, and the violations of promises. */
export class History {
  readonly jobs = new Map<number, JobHistory>()
  readonly violations: string[] = []
  /** The number of executions that have not ended, in processes that live. */
  running = 0
  /** The largest allowed number of concurrent executions, and of live processes. */
  maxRunning = Number.POSITIVE_INFINITY
  maxProcesses = Number.POSITIVE_INFINITY
  readonly #world: World
  readonly #coverage: Coverage

  constructor(world: World, coverage: Coverage) {
    this.#world = world
    this.#coverage = coverage
  }

  job(number: number): JobHistory {
    let job = this.jobs.get(number)
    if (job === undefined) {
      job = new JobHistory(number)
      this.jobs.set(number, job)
      this.#coverage.jobs++
    }
    return job
  }

  addViolation(message: string): void {
    this.#world.trace(`VIOLATION ${message}`)
    this.violations.push(message)
  }

  check(holds: boolean, message: () => string): void {
    if (!holds) this.addViolation(message())
  }

  // ---- from the workers

  begin(number: number, worker: number, delivery: number, attempt: number): Execution {
    const job = this.job(number)
    const earlier = job.executions.find((each) => each.attempt === attempt)
    this.check(earlier === undefined, () => `promise 3: job ${number} began twice in attempt ${attempt}: in worker ${earlier?.worker} and in worker ${worker}`)
    this.check(job.running === undefined, () => `promise 3: job ${number} began in worker ${worker} while it was running in worker ${job.running?.worker}`)
    const execution: Execution = { worker, delivery, attempt, beganAt: this.#world.now, endedAt: undefined }
    job.executions.push(execution)
    this.#world.trace(`worker ${worker} begins job ${number}`)
    this.#coverage.executions++
    this.running++
    this.onExecution(job, execution)
    this.check(this.running <= this.maxRunning, () => `promise 11: ${this.running} jobs run at once; at most ${this.maxRunning} may`)
    return execution
  }

  end(execution: Execution): void {
    if (execution.endedAt !== undefined) return
    execution.endedAt = this.#world.now
    this.running--
  }

  // ---- from the pool

  /** Records every state change of a job, and its outcome. */
  observe(record: JobRecord, plan: Plan): JobHistory {
    const job = this.job(record.number)
    job.record = record
    job.plan = plan
    let state = record.state
    Object.defineProperty(record, 'state', {
      get: () => state,
      set: (next: JobState) => {
        this.#onStateChange(job, state, next)
        state = next
      },
    })
    record.result.then(
      (value) => this.#settled(job, { value }),
      (error) => this.#settled(job, { error }),
    )
    record.began.then((began) => {
      job.reportedBegan = began
    })
    return job
  }

  #onStateChange(job: JobHistory, from: JobState, to: JobState): void {
    if (from === to) return
    const transition = `${from} → ${to}`
    const times = this.#coverage.jobTransitions.get(transition)
    if (times === undefined) {
      this.addViolation(`promise 3: job ${job.number} made the transition ${transition}, which is not allowed`)
      return
    }
    this.#coverage.jobTransitions.set(transition, times + 1)
    this.#world.trace(`job ${job.number} ${transition}`)
    this.onJobTransition(job, from, to)
  }

  workerTransition(worker: number, from: string, to: string): void {
    const transition = `${from} → ${to}`
    const times = this.#coverage.workerTransitions.get(transition)
    if (times === undefined) this.addViolation(`worker ${worker} made the transition ${transition}, which is not allowed`)
    else this.#coverage.workerTransitions.set(transition, times + 1)
    this.#world.trace(`worker ${worker} ${transition}`)
  }

  /** Set by the PromiseChecker. */
  onJobTransition: (job: JobHistory, from: JobState, to: JobState) => void = () => {}
  onSettled: (job: JobHistory) => void = () => {}
  onExecution: (job: JobHistory, execution: Execution) => void = () => {}

  #settled(job: JobHistory, outcome: { value: unknown } | { error: unknown }): void {
    job.settled++
    job.outcome = outcome
    this.check(job.settled === 1, () => `promise 3: job ${job.number} settled ${job.settled} times`)
    this.onSettled(job)
  }
}
