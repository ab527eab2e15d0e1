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
