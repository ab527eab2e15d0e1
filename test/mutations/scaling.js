/**
 * Broken variants of the rules by which a node scales. The simulation of how nodes scale must catch each of them, or the unit test `test` where it is named.
 * `find` must occur exactly once in `file`; `put` replaces it.
 */
export const mutations = [
  {
    breaks: 'a worker is started for jobs that have not waited for scaleUpAfter',
    file: 'src/node/scaling/growth.ts',
    find: 'Math.max(waited, seen) < scaleUpAfter) {',
    put: 'Math.max(waited, ready.jobs) <= 0) {',
    test: 'test/node/scaling/growth.test.ts',
  },
  {
    breaks: 'workers that start are not enough for the jobs that wait',
    file: 'src/node/scaling/growth.ts',
    find: '    if (jobs <= starting * perWorker) return alive\n',
    put: '',
    test: 'test/node/scaling/growth.test.ts',
  },
  {
    breaks: 'more workers are started where none finds a free CPU',
    file: 'src/node/scaling/growth.ts',
    find: 'return cpuFree ? needed : Math.min(needed, WORKERS_PER_CPU * this.#rule.cpus)',
    put: 'return cpuFree || true ? needed : 0',
  },
  {
    breaks: 'jobs are never late',
    file: 'src/node/scaling/growth.ts',
    find: 'now - this.#startedAt) > longest',
    put: 'now - this.#startedAt) > Number.POSITIVE_INFINITY',
  },
  {
    breaks: 'short jobs whose turn comes soon are a reason to start a worker',
    file: 'src/node/scaling/growth.ts',
    find: '    if (!late && this.#lastBeginsAfter(waiting, jobs, up * perWorker) <= longest) return alive\n',
    put: '',
  },
  {
    breaks: 'each node starts workers for all jobs of a queue',
    file: 'src/node/scaling/load.ts',
    find: 'sum + ready * share, 0)',
    put: 'sum + ready * Math.min(1, 9 * share), 0)',
  },
  {
    breaks: 'nodes that see the same jobs start workers at the same time',
    file: 'src/node/scaling/growth.ts',
    find: '    if (waited < scaleUpAfter && load.shared && !this.#hasLookedAgain(now)) return alive\n',
    put: '',
    test: 'test/node/scaling/growth.test.ts',
  },
  {
    breaks: 'what a growth needed is not part of the demand',
    file: 'src/node/scaling/node-autoscaler.ts',
    find: 'this.#grows ? this.wanted : 0',
    put: '0',
    test: 'test/node/scaling/node-autoscaler.test.ts',
  },
  {
    breaks: 'a worker is retired as soon as it is idle',
    file: 'src/node/scaling/node-autoscaler.ts',
    find: 'Math.max(this.min, this.#demand.peak(now))',
    put: 'this.min',
  },
  {
    breaks: 'workers are never retired',
    file: 'src/node/scaling/node-autoscaler.ts',
    find: '    if (retired <= 0) return\n',
    put: '    if (retired <= 0 || surplus > 0) return\n',
  },
  {
    breaks: 'jobs are held ahead of tasks that were never measured',
    file: 'src/node/scaling/hold.ts',
    find: '    if (p95 === undefined) return undefined\n',
    put: '    if (p95 === undefined) continue\n',
    test: 'test/node/scaling/hold.test.ts',
  },
  {
    breaks: 'the number of jobs that are held ahead is never lowered',
    file: 'src/node/scaling/hold.ts',
    find: 'if (now - this.#lowerSince >= LOWER_AFTER) this.#lower(right, now)',
    put: 'if (now < this.#lowerSince) this.#lower(right, now)',
    test: 'test/node/scaling/hold.test.ts',
  },
  {
    breaks: 'jobs that wait in a node although a slot is free are no reason to start a worker',
    file: 'src/node/scaling/growth.ts',
    find: 'Math.min(concurrency, Math.max(1, running / Math.max(1, up)))',
    put: 'concurrency',
  },
  {
    breaks: 'as many jobs as there are slots need one worker, whatever they do',
    file: 'src/node/scaling/worker-cpu.ts',
    find: 'partOfWorker >= HOLDS ? 1 : Math.max(1 / concurrency, partOfWorker)',
    put: '1 / concurrency',
  },
  {
    breaks: 'a heartbeat that comes soon after a job has begun counts',
    file: 'src/node/scaling/worker-cpu.ts',
    find: 'const LEAST_BUSY = 500',
    put: 'const LEAST_BUSY = 1',
  },
  {
    breaks: 'a job whose CPU time is not known yet is taken for one that waits',
    file: 'src/node/scaling/worker-cpu.ts',
    find: 'shares.length === 0 ? running.length :',
    put: 'shares.length === 0 ? 0 :',
  },
  {
    breaks: 'a start that fails is tried for more workers',
    file: 'src/node/scaling/growth.ts',
    find: '    if (startsFail || alive >= max',
    put: '    if (alive >= max',
    test: 'test/node/scaling/growth.test.ts',
  },
  {
    breaks: 'more workers are wanted than may start at once',
    file: 'src/node/scaling/growth.ts',
    find: 'Math.min(max, needed, up + this.#startsAtOnce)',
    put: 'Math.min(max, needed)',
    test: 'test/node/scaling/growth.test.ts',
  },
  {
    breaks: 'more workers are wanted than maxWorkers',
    file: 'src/node/scaling/growth.ts',
    find: 'Math.min(max, needed, up + this.#startsAtOnce)',
    put: 'Math.min(needed, up + this.#startsAtOnce)',
  },
]
