import type { Cancel, Clock } from './clock.js'

/** A thread that computes. */
export interface Computation {
  /** `Cpus.service` at which it ends. */
  readonly end: number
  readonly isJob: boolean
  done(): void
}

/** The CPUs of a machine. The threads that compute share them evenly, and none has more than one. */
export class Cpus {
  readonly count: number
  /** Called when the number of jobs that compute has changed. */
  onChange: () => void = () => {}
  /** Jobs that compute. */
  jobs = 0
  readonly #clock: Clock
  readonly #running: Computation[] = []
  /** CPU time that a thread has had which has computed from the beginning, ms. */
  #service = 0
  #at = 0
  #next: Cancel | undefined

  constructor(clock: Clock, count: number) {
    this.#clock = clock
    this.count = count
  }

  /** No more CPUs are in use than all but one; of a single one, none. */
  get isOneFree(): boolean {
    return this.jobs <= this.count - 1
  }

  get service(): number {
    const rate = Math.min(1, this.count / Math.max(1, this.#running.length))
    return this.#service + (this.#clock.now - this.#at) * rate
  }

  /** `ms`: of CPU time. */
  compute(ms: number, isJob: boolean, done: () => void): void {
    this.#advance()
    this.#running.push({ end: this.#service + ms, isJob, done })
    if (isJob) this.#count(1)
    this.#schedule()
  }

  #count(by: number): void {
    this.jobs += by
    this.onChange()
  }

  #advance(): void {
    this.#service = this.service
    this.#at = this.#clock.now
  }

  #schedule(): void {
    this.#next?.()
    this.#next = undefined
    if (this.#running.length === 0) return
    const first = this.#running.reduce((a, b) => (b.end < a.end ? b : a))
    const rate = Math.min(1, this.count / this.#running.length)
    this.#next = this.#clock.after(Math.max(0, first.end - this.#service) / rate, () => {
      this.#advance()
      this.#running.splice(this.#running.indexOf(first), 1)
      if (first.isJob) this.#count(-1)
      this.#schedule()
      first.done()
    })
  }
}
