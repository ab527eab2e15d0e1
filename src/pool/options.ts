import { availableCpus } from '../util/available-cpus.js'
import {
  bytes,
  bytesOrZero,
  type Check,
  checkLimits,
  choice,
  countFrom,
  flag,
  milliseconds,
  millisecondsOrInfinity,
  OptionError,
  refusal,
  workerMemory,
} from '../util/checks.js'
import { LIMITS, MAX_NICENESS, MAX_WORKERS } from '../util/limits.js'
import { type OptionTable, type OptionValues, option, readOptions as readTable } from '../util/option-table.js'
import { dispatch, environment, execArgv, guarded, logger, MODULES, modules, path, relativeModules, workers } from './option-checks.js'
import type { PoolOptions } from './types.js'
import { inheritedEnv, inheritedExecArgv } from './worker/launch/inherited-options.js'
import { watchedEnv } from './worker/launch/watch-mode.js'

const UNBOUNDED = Number.POSITIVE_INFINITY
/** A frame has no room for the length of a longer message. */
const LONGEST_MESSAGE = 0xffff_0000

const messageSize: Check<number> = (name, value) => Math.min(bytes(name, value), LONGEST_MESSAGE)

const everyCpu = (): { min: number; max: number | undefined } => {
  const cpus = availableCpus()
  return { min: cpus, max: cpus }
}

const missingTasks = (): never => {
  throw new OptionError('tasks', `is missing: it must be ${MODULES}`)
}

/** What the option sets, for a pool and for a node. */
export const SHARED_MEMORY =
  'the most memory in `/dev/shm` that large values on their way take, for all workers together, and never more than a quarter of it; `0`: they go through pipes'

/** The options of `createPool`, in the order of the reference page. */
export const POOL_OPTIONS = {
  tasks: option(
    'module',
    modules,
    missingTasks,
    'a `URL`, a `file:` URL or a path (relative to the working directory), or an array of them: the modules whose exported functions are the tasks',
    'required',
  ),
  workers: option('count', workers, everyCpu, 'number of processes, or `{ min, max }` to scale with the backlog (`min` 1, `max` one per CPU)', 'one per CPU'),
  concurrency: option('jobs', countFrom(1, LIMITS.jobsPerWorker), 1, 'jobs at once in one worker; above 1, the jobs share a process and its death'),
  dispatch: option('mode', dispatch, 'adaptive', "how jobs reach workers: `'adaptive'`, `'fair'`, `'fast'` or a window (a number of jobs)"),
  maxQueue: option('jobs', countFrom(1), UNBOUNDED, 'the most jobs submitted and not yet accepted; above it a call rejects with `QueueFullError`', 'unbounded'),
  softTimeLimit: option('ms', milliseconds, 0, 'from acceptance until the task is asked to stop', 'none'),
  timeLimit: option('ms', milliseconds, 0, 'from acceptance until the worker is killed', 'none'),
  maxJobsPerWorker: option('jobs', countFrom(1), UNBOUNDED, 'a worker is replaced after this many jobs'),
  maxAgePerWorker: option('ms', milliseconds, UNBOUNDED, 'a worker is replaced at this age'),
  maxMemoryPerWorker: option('bytes', workerMemory, UNBOUNDED, 'a worker whose resident memory is above this is replaced after its jobs'),
  hardMemoryLimit: option(
    'bytes',
    workerMemory,
    ({ maxMemoryPerWorker }: { maxMemoryPerWorker: number }) => 1.5 * maxMemoryPerWorker,
    'a worker whose resident memory is above this is killed in the middle of its jobs (`MemoryLimitError`)',
    '1.5 x `maxMemoryPerWorker`',
  ),
  aliveTimeout: option('ms', milliseconds, 4_000, 'from the first message of a worker until it must be up; a worker has twice this for its first message'),
  cancelGrace: option('ms', milliseconds, 1_000, 'the time a task has to react to a cancellation or a soft limit'),
  drainTimeout: option('ms', millisecondsOrInfinity, 60_000, 'how long a draining worker may keep a job without a time limit; `Infinity`: until the job ends'),
  lostWorkerTimeout: option('ms', milliseconds, 10_000, 'how long the pipes of a dead worker are read before the pool settles its jobs or runs them again'),
  maintainInterval: option('ms', milliseconds, 5_000, 'between two rounds of maintenance'),
  heartbeatInterval: option('ms', milliseconds, 1_000, 'between two heartbeats of a worker'),
  heartbeatTimeout: option(
    'ms',
    milliseconds,
    ({ heartbeatInterval }: { heartbeatInterval: number }) => Math.max(7_000, 3 * heartbeatInterval),
    'a worker without a heartbeat for this time is killed as frozen; a worker that stands still for this time while no job runs in it is replaced',
  ),
  keepAlive: option('ms', milliseconds, 30_000, 'how long a worker above `min` may be idle'),
  maxPutBacks: option('count', countFrom(0), 5, 'how often a job may return to the queue because a worker died before it accepted the job'),
  maxMessageSize: option('bytes', messageSize, 256 * 1024 * 1024, 'the largest message: arguments, a result, an item of a stream'),
  sharedMemory: option('bytes', bytesOrZero, undefined, SHARED_MEMORY, '16 MiB for each worker'),
  spare: option('count', countFrom(0, MAX_WORKERS), 0, 'warm spare workers in addition to `workers`'),
  watchdog: option('boolean', flag, true, 'a watchdog thread in each worker'),
  niceness: option(
    'nice',
    countFrom(0, MAX_NICENESS),
    // Measured: beside 1 ms jobs that keep every core busy the host is as prompt as beside threads, and workers keep a quarter of a core beside another program.
    5,
    "nice value of a worker's main thread, 0 to 19, or the host's where that is higher; above 0, the host gets the CPU first",
  ),
  killTree: option('boolean', flag, true, 'processes that a task spawned end together with the worker'),
  output: option(
    'mode',
    choice('inherit', 'ignore', 'capture'),
    'inherit',
    "the output of tasks: `'inherit'`, `'ignore'`, or `'capture'` into `job.logs` (256 KiB for each job; each line takes 64 bytes of it in addition to its text)",
  ),
  launcher: option(
    'mode',
    choice('host', 'process'),
    'host',
    "what starts the workers: `'host'`, or `'process'`, a small process of the pool's own, for a host of gigabytes, which a start would block",
  ),
  env: option('object', environment, () => process.env, 'the environment of the workers', "the host's"),
  execArgv: option(
    'strings',
    execArgv,
    () => inheritedExecArgv(process.execArgv),
    'Node options of the workers; the default leaves out `--inspect*`, `--eval`, `--test` and `--watch`',
    "the host's",
  ),
  cwd: option('path', path, undefined, 'the working directory of the workers', "the host's"),
  logger: option('pino', logger, undefined, 'a pino logger, or an object with the methods `trace`, `debug`, `info`, `warn` and `error`'),
} satisfies OptionTable<PoolOptions>

/** The options as the pool uses them: checked, defaults filled in. Times in ms; a time limit that is off is 0, any other limit that is off is Infinity. */
export interface Settings extends Omit<OptionValues<typeof POOL_OPTIONS>, 'workers'> {
  minWorkers: number
  /** What was given for the modules that are relative to the working directory, by URL. */
  relativeTasks: ReadonlyMap<string, string>
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
    throw refusal('hardMemoryLimit', `at least maxMemoryPerWorker, ${maxMemoryPerWorker} bytes`, hardMemoryLimit)
  if (heartbeatTimeout < 2 * heartbeatInterval)
    throw refusal(
      'heartbeatTimeout',
      `at least twice the heartbeatInterval of ${heartbeatInterval} ms, or a healthy worker is taken for frozen`,
      heartbeatTimeout,
    )
  return {
    ...options,
    minWorkers: workers.min,
    relativeTasks: relativeModules((given as PoolOptions).tasks),
    maxWorkers: workers.max ?? Math.max(availableCpus(), workers.min),
    env: watchedEnv(inheritedEnv(options.env, process.env), process.env),
    logger: options.logger && guarded(options.logger),
  }
}
