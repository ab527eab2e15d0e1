import type { PoolLogger } from '../pool/types.js'
import type { Backoff } from '../runtime/delivery.js'
import type { TaskDefaults } from '../runtime/options.js'
import type { Command } from '../runtime/report/commands.js'
import type { FarmEvent, NodeSnapshot, NodeStats } from '../runtime/report/report.js'

/** Options of a node, whatever its broker. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface NodeOptions {
  /** Module or modules whose exported functions are the tasks. Required, unless `roots` is given. */
  tasks?: URL | string | readonly (URL | string)[]
  /** Folders below which `module/path#export` may name a task. Default none. */
  roots?: readonly (URL | string)[]
  /** Modules that each worker loads before any task. Default none. */
  imports?: readonly (URL | string)[]
  /** The environment of the workers. Default `process.env`. */
  env?: Record<string, string | undefined>
  /** The node's name, unique among those that share a broker: up to 200 letters, digits and `.` `_` `@` `:` `-`. Default `<host>-<pid>-<4 random letters>`. */
  name?: string
  /** Minimum number of workers. Default 1. */
  minWorkers?: number
  /** Maximum number of workers. Default 10, or `minWorkers` if that is more. */
  maxWorkers?: number
  /** Jobs that run at once in each worker, for tasks that mostly wait. Above 1, the jobs share a process and its death. Default 1. */
  concurrency?: number
  /**
   * Deliveries that the node holds for each worker, at most. It holds as many as can run, and as many more as begin within half a second, by how long the
   * tasks ran lately. Default 10, or `concurrency` if that is more.
   */
  prefetchPerWorker?: number
  /** ms that jobs must have waited before a worker is started for them. Default 250. */
  scaleUpAfter?: number
  /** Workers that start at once, at most; or as many as there are CPUs, if that is more. Default 2. */
  scaleUpBatch?: number
  /** ms: a worker above `minWorkers` that was not needed for so long is retired. Default 30,000. */
  keepAlive?: number
  /** Idle workers retired at once. Default 1. */
  scaleDownBatch?: number
  /** ms between two checks of the backlog while a slot is free, and between two retirements. Default 1,000. */
  scaleCheckInterval?: number
  /** ms from the start of a job until the signal of its task aborts, unless message or task sets one. Default none. */
  softTimeLimit?: number
  /** ms from the start of a job until its worker is killed, unless message or task sets one. Default none. */
  timeLimit?: number
  /** Attempts of a job whose message and task set none. Default 3. */
  maxAttempts?: number
  /** The wait between attempts, where neither message nor task sets one. Default exponential from 1,000 to 60,000 ms with jitter 0.2. */
  backoff?: Backoff
  /** By task: what its messages do not set. Default empty. */
  taskDefaults?: TaskDefaults
  /** What a job of an unknown task does. Default 'retry': it waits for a node that knows it, up to `unknownTaskTimeout`. */
  unknownTask?: 'retry' | 'dead-letter'
  /** ms that a job waits, in all, for a node that knows its task, before it becomes a dead letter. Default 600,000. */
  unknownTaskTimeout?: number
  /** A job that began this often on workers that died becomes a dead letter. Default 3. */
  maxLosses?: number
  /** The largest body in bytes, once decompressed. Default 64 MiB. */
  maxBodySize?: number
  /** A worker is replaced after this many jobs, by one that is up first. Default none. */
  maxJobsPerWorker?: number
  /** A worker whose resident memory is above this, in bytes, is replaced after its jobs; above 1.5 times this it is killed. Default none. */
  maxMemoryPerWorker?: number
  /** The nice value of a worker's main thread, 0 to 19, or the node's where that is higher. Above 0, the node gets the CPU first. Default 0. */
  niceness?: number
  /** What starts the workers: the node's own process, or a small one beside it, for a node that holds gigabytes. Default 'host'. */
  launcher?: 'host' | 'process'
  /** The most memory in `/dev/shm`, in bytes, that large values on their way to and from the workers take together; 0: they go through pipes. Default 16 MiB for each worker. */
  sharedMemory?: number
  /** A worker whose event loop has not turned for this time is ended, ms. Default none. */
  maxStall?: number
  /** ms that a task has to react to a cancellation or a soft limit, before its worker is ended. Default 1,000. */
  cancelGrace?: number
  /** ms that jobs in flight have at a shutdown. Default 15,000. */
  shutdownGrace?: number
  /** ms between two heartbeats, of workers and of the node. Default 1,000. */
  heartbeatInterval?: number
  /** Jobs remembered for snapshots. Default 300. */
  taskHistory?: number
  /** Snapshots show the arguments of jobs, cut to 2,000 characters and without passwords. False: arguments are secret. Default true. */
  showArguments?: boolean
  /** A pino logger, or an object with its five methods. Default none. */
  logger?: PoolLogger
}

/** An option given as `undefined` counts as absent. */
export interface ShutdownOptions {
  /** ms that jobs in flight have. Default `shutdownGrace` of the node. */
  grace?: number | undefined
  /** Why, for the log and the event `node.down`. Default 'shutdown()'. */
  reason?: string | undefined
  /** Why the node cannot go on; its report is not clean then. */
  error?: Error | undefined
}

export interface ShutdownReport {
  /** Every job in flight ended by itself within the grace, or was given back. */
  clean: boolean
  /** Deliveries given back unbegun. */
  requeued: number
  /** Jobs that had begun and were killed. */
  killed: number
  /** Jobs that had not begun and could not be given back, so that they stay with the broker until their reservations end; under Faktory. Absent: none. */
  left?: number
  /** Why the node could not go on: its broker cannot be used any more. What ran was ended, and cannot have been settled. */
  error?: Error
}

/** A node that runs. */
export interface FarmNode extends AsyncDisposable {
  readonly name: string
  stats(): NodeStats
  /** `id`: only the jobs with this id. Default the last `taskHistory` jobs. */
  snapshot(options?: { id?: string | undefined }): NodeSnapshot
  /** Carries out a command, like one that comes over the control exchange. Rejects with TypeError or RangeError for one that cannot be carried out. */
  command(command: Command): Promise<unknown>
  /** Calls `listener` with each event of this node until the function it returns is called. */
  onEvent(listener: (event: FarmEvent) => void): () => void
  /**
   * Stops taking jobs, drains, then ends what is left. A second call, with less grace, shortens the first. Rejects with TypeError for options that cannot be
   * used, and does nothing then.
   */
  shutdown(options?: ShutdownOptions): Promise<ShutdownReport>
  /** Resolves when the node has shut down, for whatever reason. */
  readonly done: Promise<ShutdownReport>
}
