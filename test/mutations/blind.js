/**
 * Five plausible bugs, taken from what has befallen other pools and written from src/pool and src/worker alone, without a look at the simulation. Their first
 * run is told in docs/reliability.md; since then the simulation must catch each of them.
 */
export const mutations = [
  {
    breaks: 'jobs that wait to be run again are forgotten when the worker they wait for dies, too',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '[...again, ...worker.reserved.takeRetries()]',
    put: '[...again]',
  },
  {
    breaks: 'without a watchdog, the soft limit takes the hard one with it',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '      worker.lifeline.askSoft(job)\n',
    put: '      worker.lifeline.askSoft(job)\n      job.endAttempt?.()\n',
  },
  {
    breaks: 'of the jobs recalled only the first one met in the pipe is dropped',
    file: 'src/worker/claim.ts',
    find: '      if (Atomics.compareExchange(this.#word, this.#index, seen, this.#last) !== seen) continue\n',
    put: '      if (Atomics.compareExchange(this.#word, this.#index, seen, this.#last) !== seen) continue\n      this.#dropUpTo = Math.min(this.#dropUpTo, delivery)\n',
  },
  {
    breaks: 'a rolling restart waits for a worker that has died before its turn',
    file: 'src/pool/fleet/rolling-restart.ts',
    find: '      if (!worker.isUp) continue\n',
    put: '',
  },
  {
    breaks: "a stream's credit that comes before its generator is dropped",
    file: 'src/worker/jobs/job-loop.ts',
    find: '        if (job === undefined) return\n        job.creditItems',
    put: '        if (job?.pump === undefined) return\n        job.creditItems',
  },
]
