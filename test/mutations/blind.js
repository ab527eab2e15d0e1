/**
 * Five plausible bugs, modelled on bugs of other pools. They were written from src/pool and src/worker alone, before the simulation was read:
 * docs/reliability.md has their first run. The simulation must catch each of them.
 */
export const mutations = [
  {
    breaks: 'jobs that wait for an isolated retry are lost when that worker dies too',
    file: 'src/pool/jobs/jobs-of-dead-worker.ts',
    find: '[...again, ...worker.reserved.takeRetries()]',
    put: '[...again]',
  },
  {
    breaks: 'without a watchdog, the soft limit disables the hard limit',
    file: 'src/pool/jobs/time-limits.ts',
    find: '      worker.lifeline.requestSoftLimit(job)\n',
    put: '      worker.lifeline.requestSoftLimit(job)\n      job.cancelDeadlines?.()\n',
  },
  {
    breaks: 'of the recalled jobs only the first one in the pipe is dropped',
    file: 'src/worker/claim.ts',
    find: '      if (Atomics.compareExchange(this.#word, this.#index, seen, this.#last) !== seen) continue\n',
    put: '      if (Atomics.compareExchange(this.#word, this.#index, seen, this.#last) !== seen) continue\n      this.#dropUpTo = Math.min(this.#dropUpTo, delivery)\n',
  },
  {
    breaks: 'a rolling restart waits for a worker that has died before it was replaced',
    file: 'src/pool/fleet/rolling-restart.ts',
    find: '      if (!worker.isUp) continue\n',
    put: '',
  },
  {
    breaks: 'credit of a stream that arrives before its generator exists is dropped',
    file: 'src/worker/jobs/job-loop.ts',
    find: '        if (job === undefined) return\n        job.creditItems',
    put: '        if (job?.pump === undefined) return\n        job.creditItems',
  },
]
