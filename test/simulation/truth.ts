import type { JobRecord } from '../../src/pool/jobs/job.js'
import type { JobState } from '../../src/pool/types.js'
import type { Plan } from './plans.js'
import type { World } from './world.js'

/** One beginning of a job in a worker, as it really was. */
export interface Beginning {
  readonly worker: number
  readonly delivery: number
  readonly attempt: number
  readonly at: number
  endedAt: number | undefined
}

/** What really became of one job: known to the world, not to the pool. */
export class JobTruth {
  readonly beginnings: Beginning[] = []
  record: JobRecord | undefined
  plan: Plan | undefined
  retryLost = 0
  settled = 0
  /** Not taken at its submission. */
  refused = false
  outcome: { value: unknown } | { error: unknown } | undefined
  beganTold: boolean | undefined
  /** When somebody asked for its end. */
  cancelledAt: number | undefined
  /** Deaths of workers that held it unaccepted, and did not hand it back before. */
  putBacks = 0
  /** Times that it was given another attempt. */
  retries = 0

  constructor(readonly number: number) {}

  get running(): Beginning | undefined {
    const last = this.beginnings.at(-1)
    return last?.endedAt === undefined ? last : undefined
  }
}

/** Arrows of a job's life that the pool may take. */
const ARROWS = [
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

/** The changes of a worker's mode that the pool may make. The pool has a table of its own, in src/pool/worker/lifecycle.ts. */
const TRANSITIONS = [
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

/** How often each arrow and each transition was taken, and each kind of fault struck, over all runs. */
export class Coverage {
  readonly arrows = new Map<string, number>(ARROWS.map((arrow) => [arrow, 0]))
  /** Of workers. */
  readonly transitions = new Map<string, number>(TRANSITIONS.map((transition) => [transition, 0]))
  readonly faults = new Map<string, number>()
  readonly outcomes = new Map<string, number>()
  runs = 0
  steps = 0
  jobs = 0
  beginnings = 0

  fault(name: string): void {
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1)
  }

  outcome(name: string): void {
    this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1)
  }

  get missing(): string[] {
    return [...this.arrows, ...this.transitions].filter(([, times]) => times === 0).map(([arrow]) => arrow)
  }

  report(): string {
    const table = (title: string, counts: Map<string, number>): string =>
      `${title}\n${[...counts].map(([name, times]) => `  ${name.padEnd(34)} ${String(times).padStart(9)}`).join('\n')}`
    return [
      `${this.runs} runs, ${this.steps} steps, ${this.jobs} jobs, ${this.beginnings} beginnings`,
      table('arrows', this.arrows),
      table('transitions of workers', this.transitions),
      table('outcomes', this.outcomes),
      table('faults', this.faults),
    ].join('\n')
  }
}

/** What really happened, and what of it must not have. */
export class Truth {
  readonly jobs = new Map<number, JobTruth>()
  readonly violations: string[] = []
  /** Beginnings that have not ended, in processes that live. */
  running = 0
  /** The most that may run at once, and may live at once. */
  runningBound = Number.POSITIVE_INFINITY
  processBound = Number.POSITIVE_INFINITY
  readonly #world: World
  readonly #coverage: Coverage

  constructor(world: World, coverage: Coverage) {
    this.#world = world
    this.#coverage = coverage
  }

  of(number: number): JobTruth {
    let job = this.jobs.get(number)
    if (job === undefined) {
      job = new JobTruth(number)
      this.jobs.set(number, job)
      this.#coverage.jobs++
    }
    return job
  }

  violated(what: string): void {
    this.#world.say(`VIOLATED ${what}`)
    this.violations.push(what)
  }

  demand(holds: boolean, what: () => string): void {
    if (!holds) this.violated(what())
  }

  // ---- what the workers do

  begin(number: number, worker: number, delivery: number, attempt: number): Beginning {
    const job = this.of(number)
    const twice = job.beginnings.find((each) => each.attempt === attempt)
    this.demand(twice === undefined, () => `promise 3: job ${number} began twice in attempt ${attempt}: in worker ${twice?.worker} and in worker ${worker}`)
    this.demand(job.running === undefined, () => `promise 3: job ${number} began in worker ${worker} while it runs in worker ${job.running?.worker}`)
    const beginning: Beginning = { worker, delivery, attempt, at: this.#world.now, endedAt: undefined }
    job.beginnings.push(beginning)
    this.#world.say(`worker ${worker} begins job ${number}`)
    this.#coverage.beginnings++
    this.running++
    this.onBegin(job, beginning)
    this.demand(this.running <= this.runningBound, () => `promise 11: ${this.running} jobs run at once, ${this.runningBound} may`)
    return beginning
  }

  end(beginning: Beginning): void {
    if (beginning.endedAt !== undefined) return
    beginning.endedAt = this.#world.now
    this.running--
  }

  // ---- what the pool does

  /** Watches a job of the pool: every change of its state is seen. */
  watch(record: JobRecord, plan: Plan): JobTruth {
    const job = this.of(record.number)
    job.record = record
    job.plan = plan
    let state = record.state
    Object.defineProperty(record, 'state', {
      get: () => state,
      set: (next: JobState) => {
        this.#arrow(job, state, next)
        state = next
      },
    })
    record.result.then(
      (value) => this.#settled(job, { value }),
      (error) => this.#settled(job, { error }),
    )
    record.began.then((began) => {
      job.beganTold = began
    })
    return job
  }

  #arrow(job: JobTruth, from: JobState, to: JobState): void {
    if (from === to) return
    const arrow = `${from} → ${to}`
    const times = this.#coverage.arrows.get(arrow)
    if (times === undefined) {
      this.violated(`promise 3: job ${job.number} went ${arrow}, which is no arrow of a job's life`)
      return
    }
    this.#coverage.arrows.set(arrow, times + 1)
    this.#world.say(`job ${job.number} ${arrow}`)
    this.onArrow(job, from, to)
  }

  /** A worker of the pool changes its mode. */
  transition(worker: number, from: string, to: string): void {
    const transition = `${from} → ${to}`
    const times = this.#coverage.transitions.get(transition)
    if (times === undefined) this.violated(`worker ${worker} went ${transition}, which no worker may`)
    else this.#coverage.transitions.set(transition, times + 1)
    this.#world.say(`worker ${worker} ${transition}`)
  }

  /** Set by the judge. */
  onArrow: (job: JobTruth, from: JobState, to: JobState) => void = () => {}
  onSettled: (job: JobTruth) => void = () => {}
  onBegin: (job: JobTruth, beginning: Beginning) => void = () => {}

  #settled(job: JobTruth, outcome: { value: unknown } | { error: unknown }): void {
    job.settled++
    job.outcome = outcome
    this.demand(job.settled === 1, () => `promise 3: job ${job.number} settled ${job.settled} times`)
    this.onSettled(job)
  }
}
