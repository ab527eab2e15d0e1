import { PreforkError } from '../../src/wire/errors.js'
import { FLAG_CALLS, MAX_CALLS } from '../../src/wire/messages.js'
import type { WorkerJob } from '../../src/worker/jobs/job.js'
import type { Coverage, History } from './history.js'
import type { Host } from './host.js'
import { awaitsForever, type Plan } from './plans.js'
import type { SimProcess } from './process.js'

type Answer = 'value' | 'error' | 'none'

/** One call of a task to its host, as the task and the function recorded it. */
interface CallRecord {
  readonly id: string
  readonly answer: Answer
  readonly process: SimProcess
  readonly delivery: number
  received: number
  settled: number
}

/** How long a function takes, ms; 0: it answers at once. */
const LATENCIES = [0, 0, 1, 4, 15, 120]

/** The functions of the simulated host that tasks call, and the calls that tasks have made. */
export class SimCalls {
  readonly #host: Host
  readonly #history: History
  readonly #coverage: Coverage
  readonly #calls = new Map<string, CallRecord>()

  constructor(host: Host, history: History, coverage: Coverage) {
    this.#host = host
    this.#history = history
    this.#coverage = coverage
  }

  // ---- in the host

  /** The option `calls` of a job. */
  readonly functions = {
    ask: (id: string, answer: Answer, ms: number, padding: Buffer | undefined): unknown => {
      const call = this.#calls.get(id)
      if (call === undefined) this.#history.addViolation(`calls: the host was called with '${id}', which no task has sent`)
      else this.#history.check(++call.received === 1, () => `calls: the call ${id} ran its function ${call.received} times`)
      const finish = (): unknown => {
        if (answer === 'error') throw Object.assign(new RangeError(`the call ${id} fails`), { call: id })
        return { id, padding }
      }
      if (answer === 'none') return new Promise(() => {})
      if (ms === 0) return finish()
      return new Promise((resolve) => this.#host.setTimer(() => resolve(finishLater(finish)), ms))
    },
  }

  // ---- in a task

  /** Makes a call and checks how it settles. Resolves with false if it has ended unanswered. */
  make(process: SimProcess, job: WorkerJob, index: number, answer: Answer, latency: number, padding?: Buffer): Promise<boolean> {
    const id = `${process.id}/${job.delivery}/${index}`
    const outstanding = this.#outstanding(process, job)
    const call: CallRecord = { id, answer, process, delivery: job.delivery, received: 0, settled: 0 }
    this.#calls.set(id, call)
    const settled = (outcome: string, objection: string | undefined): void => {
      this.#coverage.call(outcome)
      this.#history.check(++call.settled === 1, () => `calls: the call ${id} settled ${call.settled} times`)
      this.#history.check(objection === undefined, () => `calls: the call ${id} (${answer}) settled with ${outcome}, but ${objection}`)
    }
    return process.loop.reports
      .currentOf(job)
      .call('ask', id, answer, latency, padding)
      .then(
        (value) => {
          const given = (value as { id?: unknown } | undefined)?.id
          settled('answered', given === id && answer === 'value' ? undefined : `got the answer of ${String(given)}`)
          return true
        },
        (error: unknown) => {
          settled(...this.#rejection(call, job, outstanding, error))
          return !(error instanceof PreforkError && error.code === 'ERR_PREFORK_CALL_ENDED')
        },
      )
  }

  /** The outcome of a call that was rejected, and why it must not be; undefined: it is correct. */
  #rejection({ id, answer }: CallRecord, job: WorkerJob, outstanding: number, error: unknown): [outcome: string, objection: string | undefined] {
    if (error instanceof RangeError) {
      const { call } = error as unknown as { call: unknown }
      return ['the error of its function', call === id && answer === 'error' ? undefined : `got the error of ${String(call)}`]
    }
    const code = error instanceof PreforkError ? error.code : String(error)
    if (code === 'ERR_PREFORK_CALL_ENDED') return [code, job.settled || (job.cancelled && !job.mayCall) ? undefined : 'its job runs']
    if (code === 'ERR_PREFORK_TOO_MANY_CALLS') return [code, outstanding >= MAX_CALLS ? undefined : `only ${outstanding} were unanswered`]
    if (code === 'ERR_PREFORK_NO_CALLS') return [code, (job.flags & FLAG_CALLS) === 0 ? undefined : 'its job was given calls']
    return [code, 'no event explains the error']
  }

  #outstanding(process: SimProcess, { delivery }: WorkerJob): number {
    let count = 0
    for (let index = 0; ; index++) {
      const call = this.#calls.get(`${process.id}/${delivery}/${index}`)
      if (call === undefined) return count
      if (call.settled === 0) count++
    }
  }

  /** The calls of a plan: some at once, some one after another, sometimes one that is not awaited. Resolves with false if one has ended unanswered. */
  async run(process: SimProcess, job: WorkerJob, plan: Plan): Promise<boolean> {
    const count = plan.count === 37 ? MAX_CALLS + 6 : 1 + (plan.count % 8)
    const make = (index: number): Promise<boolean> => {
      const answer: Answer = (plan.key + index) % 7 === 3 ? 'error' : 'value'
      return this.make(process, job, index, answer, LATENCIES[(7 * plan.key + 3 * index) % LATENCIES.length]!, plan.padding)
    }
    let answered = true
    if (plan.eager) {
      const all = await Promise.all(Array.from({ length: count }, (_, index) => make(index)))
      answered = all.every((each) => each)
    } else {
      for (let index = 0; index < count && answered; index++) answered = await make(index)
    }
    if (answered && awaitsForever(plan)) answered = await this.make(process, job, count, 'none', 0)
    if (answered && plan.key % 5 === 0) void make(count)
    return answered
  }

  // ---- the end of the run

  /** A call may stay unsettled only in a process that has died before it answered the job. */
  checkAtEnd(): void {
    for (const { id, process, delivery, settled } of this.#calls.values()) {
      const isLeft = settled === 0 && process.main.answeredAt.has(delivery)
      this.#history.check(!isLeft, () => `calls: the call ${id} never settled, although its job has ended`)
    }
  }
}

const finishLater = async (finish: () => unknown): Promise<unknown> => finish()
