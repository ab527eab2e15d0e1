import { availableParallelism } from 'node:os'
import { bytes, type Check, checkLimits, choice, countFrom, flag, milliseconds, millisecondsOrInfinity, OptionError, refuse } from '../util/checks.js'
import { LIMITS, MAX_WORKERS } from '../util/limits.js'
import { type OptionTable, type OptionValues, option, readOptions as readTable } from '../util/option-table.js'
import { dispatch, environment, execArgv, guarded, logger, MODULES, modules, path, workers } from './option-checks.js'
import type { PoolOptions } from './types.js'
import { inheritedEnv, inheritedExecArgv } from './worker/inherited-options.js'

const UNBOUNDED = Number.POSITIVE_INFINITY
/** A frame has no room for the length of a longer message. */
const LONGEST_MESSAGE = 0xffff_0000

const messageSize: Check<number> = (name, value) => Math.min(bytes(name, value), LONGEST_MESSAGE)

const everyCpu = (): { min: number; max: number | undefined } => {
  const cpus = availableParallelism()
  return { min: cpus, max: cpus }
}

const missingTasks = (): never => {
  throw new OptionError('tasks', `is missing: it must be ${MODULES}`)
}

/** The options of `createPool`, in the order of the reference page. */
export const POOL_OPTIONS = {
  tasks: option({
    unit: 'module',
    check: modules,
    default: missingTasks,
    defaultText: 'required',
    doc: 'a `URL`, a `file:` URL or a path (relative to the working directory), or an array of them: the modules whose exported functions are the tasks',
  }),
  workers: option({
    unit: 'count',
    check: workers,
    default: everyCpu,
    defaultText: 'one per CPU',
    doc: 'the number of processes, or `{ min, max }` to scale with the backlog (`min` 1, `max` one per CPU)',
  }),
  concurrency: option({
    unit: 'jobs',
    check: countFrom(1, LIMITS.jobsPerWorker),
    default: 1,
    doc: 'jobs at once in one worker; above 1, the jobs share a process and its death',
  }),
  dispatch: option({
    unit: 'mode',
    check: dispatch,
    default: 'adaptive',
    doc: "how jobs reach workers: `'adaptive'`, `'fair'`, `'fast'` or a window (a number of jobs)",
  }),
  maxQueue: option({
    unit: 'jobs',
    check: countFrom(1),
    default: UNBOUNDED,
    defaultText: 'unbounded',
    doc: 'the most jobs that may be submitted and not yet accepted; above it, a call rejects with `QueueFullError`',
  }),
  softTimeLimit: option({ unit: 'ms', check: milliseconds, default: 0, defaultText: 'none', doc: 'from acceptance until the task is asked to stop' }),
  timeLimit: option({ unit: 'ms', check: milliseconds, default: 0, defaultText: 'none', doc: 'from acceptance until the worker is killed' }),
  maxJobsPerWorker: option({ unit: 'jobs', check: countFrom(1), default: UNBOUNDED, doc: 'a worker is replaced after this many jobs' }),
  maxAgePerWorker: option({ unit: 'ms', check: milliseconds, default: UNBOUNDED, doc: 'a worker is replaced at this age' }),
  maxMemoryPerWorker: option({
    unit: 'bytes',
    check: bytes,
    default: UNBOUNDED,
    doc: 'a worker whose resident memory is above this is replaced after its jobs',
  }),
  hardMemoryLimit: option({
    unit: 'bytes',
    check: bytes,
    default: ({ maxMemoryPerWorker }: { maxMemoryPerWorker: number }) => 1.5 * maxMemoryPerWorker,
    defaultText: '1.5 x `maxMemoryPerWorker`',
    doc: 'a worker whose resident memory is above this is killed in the middle of its jobs (`MemoryLimitError`)',
  }),
  aliveTimeout: option({
    unit: 'ms',
    check: milliseconds,
    default: 4_000,
    doc: 'from the first message of a worker until it must be up; a worker has twice this for its first message',
  }),
  cancelGrace: option({ unit: 'ms', check: milliseconds, default: 1_000, doc: 'the time a task has to react to a cancellation or a soft limit' }),
  drainTimeout: option({
    unit: 'ms',
    check: millisecondsOrInfinity,
    default: 60_000,
    doc: 'how long a worker that is replaced or removed by `resize` may keep a job without a time limit; `Infinity`: until the job ends',
  }),
  lostWorkerTimeout: option({
    unit: 'ms',
    check: milliseconds,
    default: 10_000,
    doc: 'how long the pipes of a dead worker are read before the pool decides what its jobs come to',
  }),
  maintainInterval: option({ unit: 'ms', check: milliseconds, default: 5_000, doc: 'between two rounds of maintenance' }),
  heartbeatInterval: option({ unit: 'ms', check: milliseconds, default: 1_000, doc: 'between two heartbeats of a worker' }),
  heartbeatTimeout: option({
    unit: 'ms',
    check: milliseconds,
    default: ({ heartbeatInterval }: { heartbeatInterval: number }) => Math.max(7_000, 3 * heartbeatInterval),
    doc: 'a worker without a heartbeat for this time is killed as frozen; a worker that stands still for this time while no job runs in it is replaced',
  }),
  keepAlive: option({ unit: 'ms', check: milliseconds, default: 30_000, doc: 'how long a worker above `min` may be idle' }),
  maxPutBacks: option({
    unit: 'count',
    check: countFrom(0),
    default: 5,
    doc: 'how often a job may return to the queue because a worker died before it accepted the job',
  }),
  maxMessageSize: option({
    unit: 'bytes',
    check: messageSize,
    default: 256 * 1024 * 1024,
    doc: 'the largest message: arguments, a result, an item of a stream',
  }),
  spare: option({ unit: 'count', check: countFrom(0, MAX_WORKERS), default: 0, doc: 'warm stand-by workers in addition to `workers`' }),
  watchdog: option({ unit: 'boolean', check: flag, default: true, doc: 'a watchdog thread in each worker' }),
  killTree: option({ unit: 'boolean', check: flag, default: true, doc: 'processes that a task spawned end together with the worker' }),
  output: option({
    unit: 'mode',
    check: choice('inherit', 'ignore', 'capture'),
    default: 'inherit',
    doc: "the output of tasks: `'inherit'`, `'ignore'`, or `'capture'` into `job.logs` (256 KiB for each job; each line takes 64 bytes of it in addition to its text)",
  }),
  env: option({ unit: 'object', check: environment, default: () => process.env, defaultText: "the host's", doc: 'the environment of the workers' }),
  execArgv: option({
    unit: 'strings',
    check: execArgv,
    default: () => inheritedExecArgv(process.execArgv),
    defaultText: "the host's",
    doc: 'Node options of the workers; the default leaves out `--inspect*`, `--eval`, `--test` and `--watch`',
  }),
  cwd: option({ unit: 'path', check: path, defaultText: "the host's", doc: 'the working directory of the workers' }),
  logger: option({ unit: 'pino', check: logger, doc: 'a pino logger, or an object with the methods `trace`, `debug`, `info`, `warn` and `error`' }),
} satisfies OptionTable<PoolOptions>

/** The options as the pool uses them: checked, defaults filled in. Times in ms; a time limit that is off is 0, any other limit that is off is Infinity. */
export interface Settings extends Omit<OptionValues<typeof POOL_OPTIONS>, 'workers'> {
  minWorkers: number
  maxWorkers: number
}

/** Validates the options of `createPool`. Throws TypeError naming the option. */
export const readOptions = (given: unknown): Settings => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError("createPool wants an options object: createPool({ tasks: new URL('./tasks.js', import.meta.url) }).")
  }
  const { workers, ...options } = readTable(POOL_OPTIONS, 'createPool', given)
  checkLimits(options)
  const { maxMemoryPerWorker, hardMemoryLimit, heartbeatInterval, heartbeatTimeout } = options
  if (maxMemoryPerWorker !== UNBOUNDED && hardMemoryLimit < maxMemoryPerWorker)
    throw refuse('hardMemoryLimit', `at least maxMemoryPerWorker, ${maxMemoryPerWorker} bytes`, hardMemoryLimit)
  if (heartbeatTimeout < 2 * heartbeatInterval)
    throw refuse(
      'heartbeatTimeout',
      `at least twice the heartbeatInterval of ${heartbeatInterval} ms, or a healthy worker is taken for frozen`,
      heartbeatTimeout,
    )
  return {
    ...options,
    minWorkers: workers.min,
    maxWorkers: workers.max ?? Math.max(availableParallelism(), workers.min),
    env: inheritedEnv(options.env, process.env),
    logger: options.logger && guarded(options.logger),
  }
}
