import type { JobDelivery, LogLine } from '../wire/messages.js'
import type { Calls } from '../worker/current-job.js'

/** Autoscaling: the pool keeps between `min` and `max` workers, by backlog. */
export interface WorkersRange {
  /** Workers kept at all times; default 1. */
  min?: number | undefined
  /** Workers at the most; default one per CPU that the host may use, as in `workers`. */
  max?: number | undefined
}

/** How jobs reach workers; see the guide "Dispatch". A number is a fixed window: jobs written to one worker at once. */
export type Dispatch = 'adaptive' | 'fair' | 'fast' | number

/** The part of a pino logger that the pool uses. */
export interface PoolLogger {
  trace(details: object, message: string): void
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** Times in milliseconds, sizes in bytes. An option given as `undefined` counts as absent. */
export interface PoolOptions {
  /** Module or modules whose exported functions (not classes) are the tasks: a `URL`, a `file:` URL string or a path (relative: to the working directory). Required. */
  tasks: URL | string | readonly (URL | string)[]
  /**
   * The number of workers, or `{ min, max }` to scale with the backlog. Default one per CPU that the host may use: `os.availableParallelism()`, or the CPU quota
   * of its cgroup, rounded down, where that is less.
   */
  workers?: number | WorkersRange | undefined
  /** Jobs at once in one worker, at most 10,000. Default 1: above it, the jobs share a process and its death. */
  concurrency?: number | undefined
  /** How jobs reach workers; see the guide "Dispatch". Default 'adaptive'. */
  dispatch?: Dispatch | undefined
  /** Jobs submitted and not yet accepted, at most; above it, a call rejects with `QueueFullError`. Default unbounded. */
  maxQueue?: number | undefined
  /** ms from acceptance until the task's signal aborts (`SoftTimeLimitError`). Default none. */
  softTimeLimit?: number | undefined
  /** ms from acceptance until the worker is killed (`TimeLimitError`). Default none. */
  timeLimit?: number | undefined
  /** A worker is replaced after this many jobs. Default none. */
  maxJobsPerWorker?: number | undefined
  /** A worker is replaced at this age, ms. Default none. */
  maxAgePerWorker?: number | undefined
  /** A worker whose resident memory is above this, in bytes, is replaced after its jobs, as `pool.restart()` does it. Default none. */
  maxMemoryPerWorker?: number | undefined
  /** A worker whose resident memory is above this, in bytes, is killed in the middle of its jobs (`MemoryLimitError`). Default 1.5 x `maxMemoryPerWorker`. */
  hardMemoryLimit?: number | undefined
  /** ms from the first message of a worker until it must be up; it has twice this for its first message. Default 4,000. */
  aliveTimeout?: number | undefined
  /** ms that a task has to react to a cancellation or a soft limit. Default 1,000. */
  cancelGrace?: number | undefined
  /**
   * ms that a worker which is replaced, or removed by `resize`, may keep a job without a time limit; then the job is lost. `Infinity`: until the
   * job ends. Default 60,000.
   */
  drainTimeout?: number | undefined
  /** ms that the pipes of a dead worker are read before the pool settles its jobs or runs them again. Default 10,000. */
  lostWorkerTimeout?: number | undefined
  /** ms between two rounds of maintenance. Default 5,000. */
  maintainInterval?: number | undefined
  /** ms between two heartbeats of a worker. Default 1,000. */
  heartbeatInterval?: number | undefined
  /**
   * ms without a heartbeat after which a worker is killed as frozen; also ms after which a worker is replaced whose event loop stands still, or which
   * accepts no job, while no job runs in it. At least twice `heartbeatInterval`. Default 7,000, or three times `heartbeatInterval` if that is more.
   */
  heartbeatTimeout?: number | undefined
  /** ms that a worker above `min` may be idle. Default 30,000. */
  keepAlive?: number | undefined
  /** How often a job may return to the queue because a worker died before it accepted the job. Default 5; take more for `dispatch: 'fast'` with workers that often die. */
  maxPutBacks?: number | undefined
  /** The largest message in bytes: arguments, a result, an item of a stream. Default 256 MiB. */
  maxMessageSize?: number | undefined
  /**
   * The most memory in `/dev/shm`, in bytes, that all workers of the pool take together for large values on their way; 0: all values go through pipes. It is never
   * more than a quarter of what `/dev/shm` holds, and pipes are used where there is none. The guide "Embedding" says more. Default 16 MiB for each worker.
   */
  sharedMemory?: number | undefined
  /** Warm spare workers in addition to `workers`. Default 0. */
  spare?: number | undefined
  /** A watchdog thread in each worker; the guide "Time limits" says which promises depend on it. Default true. */
  watchdog?: boolean | undefined
  /**
   * The nice value (setpriority(2)) of a worker's main thread, 0 to 19, or the host's where that is higher. Above 0, the host gets the CPU first; the guide
   * "Embedding" says what inherits it. Default 5.
   */
  niceness?: number | undefined
  /** Processes that a task spawned end together with the worker. Default true. */
  killTree?: boolean | undefined
  /** The output of tasks: inherited from the host, ignored, or captured into `job.logs`. Default 'inherit'. */
  output?: 'inherit' | 'ignore' | 'capture' | undefined
  /**
   * What starts the workers. 'host': the host itself; a fork copies the tables of its memory, which blocks a host of gigabytes for a tenth of a second at each
   * start. 'process': a small process that the pool starts first, and which takes some 40 MB. Default 'host'.
   */
  launcher?: 'host' | 'process' | undefined
  /** The environment of the workers. Default `process.env`. */
  env?: Record<string, string | undefined> | undefined
  /** Node options of the workers, each value after its option. Default: the host's without `--inspect*`, `--eval`, `--test` and `--watch`. */
  execArgv?: readonly string[] | undefined
  /** The working directory of the workers. Default the host's. */
  cwd?: string | URL | undefined
  /** A pino logger, or an object with its five methods. Default none: the pool logs nothing. */
  logger?: PoolLogger | undefined
}

/** Options of one job. They override those of `defineTask`, which override those of the pool. */
export interface RunOptions {
  /** ms from acceptance until the worker is killed (`TimeLimitError`). Default that of the task or the pool. */
  timeLimit?: number | undefined
  /** ms from acceptance until the task's signal aborts (`SoftTimeLimitError`). Default that of the task or the pool. */
  softTimeLimit?: number | undefined
  /** Cancels the job when it aborts, with the reason of the signal. Default none. */
  signal?: AbortSignal | undefined
  /** Higher runs first. Default 0. */
  priority?: number | undefined
  /** How often the job may run again after its worker died; for idempotent tasks. A stream runs again only if none of its items has arrived. Default that of the task, or 0. */
  retryLost?: number | undefined
  /** ArrayBuffers among the arguments that are moved instead of copied. The call detaches every one listed, also one that is not an argument. Default none. */
  transfer?: readonly ArrayBuffer[] | undefined
  /** The value of `currentJob().context` in the task. Default none. */
  context?: unknown
  /** Functions of the host that the task may call: `await currentJob().call('lookUp', id)`. They run in the async context of the submission. Default none. */
  calls?: Calls | undefined
  /** How a message broker delivered the job; the value of `currentJob().delivery` in the task. Default none. */
  delivery?: JobDelivery | undefined
  /** The id of the job in logs and events. It need not be unique: two jobs with one id both run. Default: generated, unique to the pool. */
  id?: string | undefined
  /**
   * 'ask': a job that is cancelled while its task runs settles as the task does: with its value or its error. If the task has not ended within `cancelGrace`
   * (or the `grace` of `job.cancel`), or its worker dies before, the job rejects with the reason of the cancellation once the process is gone. So a caller may
   * begin it anew without a second run beside the first. The cancellation interrupts no code. A soft time limit still does: then the job rejects with the
   * reason as well. The job is never run again.
   *
   * A queued job rejects at once. One that was written to a worker rejects when the worker has given it back; if the worker has begun it, it is a running one.
   * A stream rejects with the reason when its generator has closed, or with the error of a generator that fails. Leaving the loop over a stream or a map waits
   * until its jobs have settled.
   *
   * Default: the job rejects at once with the reason, while its task may still run.
   */
  cancel?: 'ask' | undefined
  /** What the job is called in errors, events, logs and statistics, and in `currentJob().name`; at most 4,096 characters. Default: the name of its task. */
  calledAs?: string | undefined
}

/** Options of `job.cancel`. */
export interface CancelOptions {
  /**
   * ms that the running task has to end; then its worker is killed. 0: it is killed at once, and other jobs in it are lost or run again, as at a time limit.
   * A later call may only shorten it. Default: `cancelGrace` of the pool.
   */
  grace?: number | undefined
}

export interface MapOptions extends Omit<RunOptions, 'id' | 'transfer' | 'delivery'> {
  /** The results come in the order of the source. Default true. */
  ordered?: boolean | undefined
  /** The most jobs that are outstanding at once. Default 2 x workers x `concurrency` of the pool. */
  concurrency?: number | undefined
}

/** An id, moved memory and a delivery belong to one job: a broadcast takes none of them. */
export type BroadcastOptions = Omit<RunOptions, 'id' | 'transfer' | 'delivery'>

/** The guide "Embedding" has a table of them. A job that is being cancelled (`cancel: 'ask'`) is not 'cancelled' before it settles. A time or memory limit ends in 'failed'; a 'lost' job began (or was put back too often) and its outcome is unknown. */
export type JobState = 'queued' | 'writing' | 'written' | 'accepted' | 'succeeded' | 'failed' | 'cancelled' | 'lost'

export interface JobEvents {
  /** A value given to `currentJob().progress`: the first at once, of later ones the newest at most every 50 ms, the last always before the result. */
  progress: (value: unknown) => void
  /** The soft limit has passed; the task has been asked to stop. */
  softTimeLimit: () => void
}

/** A submitted job. */
export interface Job<R = unknown> {
  readonly id: string
  /** The name of its task, or `calledAs`. */
  readonly name: string
  readonly state: JobState
  /**
   * The id of the worker that has it now: the one that it was written to ('writing', 'written', 'accepted'), undefined while it is 'queued', also after it was
   * put back or before it runs again. Once it has settled: of the worker that accepted it last; undefined if none did.
   */
  readonly worker: number | undefined
  /** True from the worker's ACCEPTED on: it may have begun. */
  readonly accepted: boolean
  /** Counts from 1; a retry after a loss adds one. */
  readonly attempt: number
  /** A promise, to be awaited: whether the task ever began. Never rejects. */
  readonly began: Promise<boolean>
  /** Marked as handled: a rejection that is not awaited raises no unhandledRejection, unless the call was a mistake (an unknown task, an option, `args`). */
  readonly result: Promise<R>
  /** The soft limit passed while it ran. */
  readonly softTimedOut: boolean
  /** Captured output (`output: 'capture'`) and `currentJob().log` lines. What is written past `process.stdout` may be missing: see the guide "Embedding". */
  readonly logs: readonly LogLine[]
  on<E extends keyof JobEvents>(event: E, listener: JobEvents[E]): this
  off<E extends keyof JobEvents>(event: E, listener: JobEvents[E]): this
  /**
   * Cancels the job: it rejects at once with `reason` (an `AbortError` by default); with `cancel: 'ask'`, a job that may have begun settles later. Of further
   * calls only a shorter `grace` counts, also after the job has settled, while its task still runs. False when it had settled already.
   *
   * @throws {TypeError} an unknown option, or a `grace` that is no time
   */
  cancel(reason?: unknown, options?: CancelOptions): boolean
  /**
   * Cancels the job only if it has not begun; one that has, or begins meanwhile, runs on. Resolves with whether it was cancelled: then
   * it rejects with `reason` (an `AbortError` by default) and never runs. Never rejects.
   */
  withdraw(reason?: unknown): Promise<boolean>
}

export type WorkerState = 'starting' | 'up' | 'busy' | 'draining' | 'retiring' | 'dead'

export interface CurrentJobStats {
  id: string
  name: string
  /** ms since it was accepted. */
  age: number
  attempt: number
}

export interface WorkerStats {
  /** Stable and never reused in one pool. */
  id: number
  pid: number | undefined
  state: WorkerState
  /** A warm spare worker: it takes no jobs yet. */
  spare: boolean
  /** Resident bytes, by the last measurement. */
  rss: number
  /** CPU time that its process has used, user and system, ms, by the last heartbeat; undefined before the first. Processes that its tasks started are not included. */
  cpu: number | undefined
  /** ms since its process was started. */
  uptime: number
  /** Jobs settled here. */
  jobs: number
  /** The oldest job running here. */
  job: CurrentJobStats | undefined
  /** Jobs running here. */
  running: number
  /** Jobs written ahead: in its pipe, not accepted. */
  writtenAhead: number
  /** Bytes written to it. */
  bytesWritten: number
  /** ms since the main thread's last turn, by the last heartbeat. */
  stalled: number
}

/** Times in ms. Quantiles are of a log-bucketed histogram: within 10 % of the true value. */
export interface LatencyStats {
  count: number
  mean: number
  min: number
  p50: number
  p90: number
  p99: number
  max: number
}

/** Writes per worker, as Celery's pool reports them. */
export interface WritesStats {
  total: number
  average: number
  /** Share of each worker id among the writes, 0 to 1. */
  shares: Record<number, number>
}

export interface PoolStats {
  workers: WorkerStats[]
  /** Jobs submitted and not yet accepted. */
  queued: number
  /** Jobs running. */
  running: number
  totals: {
    submitted: number
    succeeded: number
    failed: number
    cancelled: number
    lost: number
    /** Jobs run again by `retryLost`. */
    retried: number
    /** Jobs put back into the job queue because their worker died, or by recall. */
    putBack: number
    workersStarted: number
    workersDied: number
    workersRecycled: number
  }
  latency: {
    /** Submission to acceptance. */
    wait: LatencyStats
    /** Acceptance to settlement. */
    run: LatencyStats
    /** Submission to settlement. */
    roundTrip: LatencyStats
  }
  writes: WritesStats
}

/** Events of the pool; each is also published on the diagnostics channel `prefork:<name>`. */
export interface PoolEvents {
  workerStart: { worker: number; pid: number | undefined }
  workerUp: { worker: number; pid: number; ms: number }
  /** `reason`: why it ended; `expected`: the pool ended it for a reason of its own (recycling, resize, close). */
  workerExit: {
    worker: number
    pid: number | undefined
    exitCode: number | null
    signal: string | null
    reason: string
    expected: boolean
    stderr: string
    /** Ids of the jobs that were running there. */
    jobs: string[]
  }
  /** An error in a worker that was not caught, while a job ran or after. `job`: the id of the job that it comes from, where that is known. */
  workerFault: { worker: number; type: 'unhandledRejection' | 'uncaughtException'; error: unknown; job: string | undefined }
  jobSubmitted: { id: string; name: string }
  jobAccepted: { id: string; name: string; worker: number; attempt: number }
  jobSettled: { id: string; name: string; state: JobState; worker: number | undefined; ms: number; error: unknown }
  /** It runs again because `worker` died with it, for `reason`. */
  jobRetried: { id: string; name: string; attempt: number; worker: number; reason: string }
  jobPutBack: { id: string; name: string; worker: number }
  softTimeLimit: { id: string; name: string; worker: number }
  /** Lines that a job has written (`output: 'capture'`, and `currentJob().log`). */
  jobLog: { id: string; name: string; worker: number; lines: readonly LogLine[] }
  /** A line of output that belongs to no job, or whose job is not known (`output: 'capture'`). */
  output: { worker: number; line: LogLine }
}

export interface CloseOptions {
  /** ms to finish; over it the rest is terminated. Default no limit. */
  timeout?: number | undefined
}
