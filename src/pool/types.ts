import type { JobDelivery, LogLine } from '../wire/messages.js'

/** The exported functions of a task module, by name. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an arbitrary module; `unknown` would refuse modules whose functions take parameters.
export type TaskFunction = (...args: any[]) => unknown
/** The tasks of a pool that was given no type: any name, any arguments. */
export type AnyTasks = Record<string, TaskFunction>

/** Names of the module's exports that are functions. */
export type TaskName<T> = { [K in keyof T]: T[K] extends TaskFunction ? K : never }[keyof T] & string
export type TaskArgs<T, N extends TaskName<T>> = T[N] extends (...args: infer A) => unknown ? Readonly<A> : never
export type TaskResult<T, N extends TaskName<T>> = T[N] extends (...args: never[]) => infer R ? Awaited<R> : never
/** What an async generator task yields. */
export type TaskItem<T, N extends TaskName<T>> = T[N] extends (...args: never[]) => infer R
  ? unknown extends R
    ? unknown
    : R extends AsyncIterable<infer I> | Iterable<infer I>
      ? I
      : Awaited<R> extends AsyncIterable<infer I> | Iterable<infer I>
        ? I
        : never
  : never

/** Names of the tasks that `stream` can call: those whose calls can be iterated over. */
export type StreamName<T> = { [N in TaskName<T>]: [TaskItem<T, N>] extends [never] ? never : N }[TaskName<T>]

/** Names of the tasks that answer with one result: all but generators, which `stream` runs. */
export type RunName<T> = {
  [N in TaskName<T>]: T[N] extends (...args: never[]) => infer R
    ? unknown extends R
      ? N
      : // One that never returns is no generator, though `never` extends everything.
        [Awaited<R>] extends [never]
        ? N
        : Awaited<R> extends AsyncGenerator<unknown, unknown, never> | Generator<unknown, unknown, never>
          ? never
          : N
    : never
}[TaskName<T>]

/** Autoscaling: the pool keeps between `min` and `max` workers, by backlog. */
export interface WorkersRange {
  /** Workers kept at all times; default 1. */
  min?: number | undefined
  /** Workers at the most; default `os.availableParallelism()`. */
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
  /** How many workers, or `{ min, max }` to autoscale. Default `os.availableParallelism()`. */
  workers?: number | WorkersRange | undefined
  /** Jobs at once in one worker. Default 1: at more, neighbours share a process and its death. */
  concurrency?: number | undefined
  /** Default 'adaptive'. */
  dispatch?: Dispatch | undefined
  /** Jobs submitted and not yet accepted, at the most; over it `QueueFullError`. Default unbounded. */
  maxQueue?: number | undefined
  /** ms from acceptance until the task's signal aborts. Default none. */
  softTimeLimit?: number | undefined
  /** ms from acceptance until the worker is ended. Default none. */
  timeLimit?: number | undefined
  /** A worker is recycled after this many jobs. Default never. */
  maxJobsPerWorker?: number | undefined
  /** A worker is recycled at this age, ms. Default never. */
  maxAgePerWorker?: number | undefined
  /** A worker whose resident memory is over this is recycled after its jobs (as `pool.restart()` does it). Default never. */
  maxMemoryPerWorker?: number | undefined
  /** A worker over this is killed in mid-job (`MemoryLimitError`). Default 1.5 x `maxMemoryPerWorker`. */
  hardMemoryLimit?: number | undefined
  /** ms from a worker's HELLO until it must be up. Default 4,000. */
  aliveTimeout?: number | undefined
  /** ms that a cancelled or soft-limited task has to answer. Default 1,000. */
  cancelGrace?: number | undefined
  /**
   * ms that a worker which is replaced, or taken away by `resize`, may keep a job without a limit of time; then the job is lost. `Infinity`: until the
   * job has ended. Default 60,000.
   */
  drainTimeout?: number | undefined
  /** ms that the pipes of a dead worker are read before it is judged. Default 10,000. */
  lostWorkerTimeout?: number | undefined
  /** ms between two rounds of maintenance. Default 5,000. */
  maintainInterval?: number | undefined
  /** ms between two heartbeats of a worker. Default 1,000. */
  heartbeatInterval?: number | undefined
  /**
   * ms of silence of a worker's watchdog until it is killed as frozen; the same for a main thread that does not turn, or takes nothing up, while no job runs.
   * Default 7,000.
   */
  heartbeatTimeout?: number | undefined
  /** ms that a worker above `min` may be idle. Default 30,000. */
  keepAlive?: number | undefined
  /** Times a job may be put back from workers that died before it rejects. Default 5; with `dispatch: 'fast'` and workers that often die, take more. */
  maxPutBacks?: number | undefined
  /** Bytes of one message, at the most. Default 256 MiB. */
  maxMessageSize?: number | undefined
  /** Warm stand-by workers beyond those at work. Default 0. */
  spare?: number | undefined
  /** A watchdog thread in each worker. Default true; the guide "Time limits" says which promises go with it. */
  watchdog?: boolean | undefined
  /** End what a worker's tasks spawned together with the worker. Default true. */
  killTree?: boolean | undefined
  /** What becomes of the tasks' output. Default 'inherit'. */
  output?: 'inherit' | 'ignore' | 'capture' | undefined
  /** The workers' environment. Default `process.env`. */
  env?: Record<string, string | undefined> | undefined
  /** Node options of the workers, each value behind its option. Default: the host's without `--inspect*`, `--eval`, `--test`, `--watch`. */
  execArgv?: readonly string[] | undefined
  /** Working directory of the workers. Default the host's. */
  cwd?: string | URL | undefined
  /** A pino logger (or one of its shape). Default none: the pool is silent. */
  logger?: PoolLogger | undefined
}

/** Options of one job; they beat `defineTask`'s, which beat the pool's. */
export interface RunOptions {
  /** ms from acceptance until the worker is ended (`TimeLimitError`). */
  timeLimit?: number | undefined
  /** ms from acceptance until the task's signal aborts (`SoftTimeLimitError`). */
  softTimeLimit?: number | undefined
  /** Cancels the job when it aborts; the job rejects with its reason. */
  signal?: AbortSignal | undefined
  /** Higher first. Default 0. */
  priority?: number | undefined
  /** Times that the job may be run again after its worker died: the task is idempotent. A stream: only while no item has arrived. Default 0. */
  retryLost?: number | undefined
  /** ArrayBuffers among the arguments that are moved instead of copied: each one listed is detached at the call, also one that is not among them. */
  transfer?: readonly ArrayBuffer[] | undefined
  /** A value that `currentJob().context` shows in the task. */
  context?: unknown
  /** How a message broker delivered the job: what `currentJob().delivery` shows in the task. */
  delivery?: JobDelivery | undefined
  /** The job's id; default one unique to the pool. It is for logs and events alone and need not be unique: of two jobs with one id both run. */
  id?: string | undefined
}

export interface MapOptions extends Omit<RunOptions, 'id' | 'transfer' | 'delivery'> {
  /** Results in the order of the source. Default true. */
  ordered?: boolean | undefined
  /** Jobs outstanding at the most. Default 2 x workers x concurrency. */
  concurrency?: number | undefined
}

/** What makes sense for one job alone, its id and the memory that it moves, is no option of a broadcast. */
export type BroadcastOptions = Omit<RunOptions, 'id' | 'transfer' | 'delivery'>

/** The guide "Embedding" has a table of them. A time or memory limit ends in 'failed'; a 'lost' job began (or was put back too often) and its outcome is unknown. */
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
  readonly name: string
  readonly state: JobState
  /** True from the worker's ACCEPTED on: it may have begun. */
  readonly accepted: boolean
  /** Counts from 1; a retry after a loss adds one. */
  readonly attempt: number
  /** A promise, to be awaited: whether the task ever began. Never rejects. */
  readonly began: Promise<boolean>
  /** Marked as handled: a rejection that is not awaited raises no unhandledRejection. */
  readonly result: Promise<R>
  /** The soft limit passed while it ran. */
  readonly softTimedOut: boolean
  /** Captured output (`output: 'capture'`) and `currentJob().log` lines. What is written past `process.stdout` may be missing: see the guide "Embedding". */
  readonly logs: readonly LogLine[]
  on<E extends keyof JobEvents>(event: E, listener: JobEvents[E]): this
  off<E extends keyof JobEvents>(event: E, listener: JobEvents[E]): this
  /** Cancels the job: it rejects at once with `reason` (an `AbortError` by default). False when it had settled already. */
  cancel(reason?: unknown): boolean
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
  /** A warm stand-by that takes no jobs yet. */
  spare: boolean
  /** Resident bytes, by the last measurement. */
  rss: number
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
    /** Jobs put back into the outbox because their worker died, or by recall. */
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
