import type { PoolLogger } from '../pool/types.js'
import type { Backoff } from '../runtime/delivery.js'
import type { Command } from '../runtime/report/commands.js'
import type { FarmEvent, NodeSnapshot, NodeStats } from '../runtime/report/report.js'

/** Options of a node, whatever its broker. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface NodeOptions {
  /** Module or modules whose exported functions are the tasks. Required, unless `roots` is given. */
  tasks?: URL | string | readonly (URL | string)[]
  /** Folders below which `module/path#export` may name a task. Default none. */
  roots?: readonly (URL | string)[]
  /** Modules loaded in each worker before any task. Default none. */
  imports?: readonly (URL | string)[]
  /** The node's name, unique among those that share a broker. Default `<host>-<pid>-<4 random letters>`. */
  name?: string
  /** Default 1. */
  minWorkers?: number
  /** Default 10. */
  maxWorkers?: number
  /** Deliveries held, and jobs at once, per worker. Default 10. */
  prefetchPerWorker?: number
  /** Jobs at once per worker, at most `prefetchPerWorker`. Default `prefetchPerWorker`. */
  concurrency?: number
  /** Workers started at once when there is a backlog. Default 2. */
  scaleUpBatch?: number
  /** Idle workers retired at once. Default 1. */
  scaleDownBatch?: number
  /** ms between two looks at the backlog. Default 1,000. */
  scaleCheckInterval?: number
  /** ms that jobs in flight have at a shutdown. Default 15,000. */
  shutdownGrace?: number
  /** ms between two heartbeats, of workers and of the node. Default 1,000. */
  heartbeatInterval?: number
  /** A worker is replaced after this many jobs, by one that is up first. Default never. */
  maxJobsPerWorker?: number
  /** A worker whose resident memory is over this is replaced after its jobs; over 1.5 times this it is killed. Bytes. Default never. */
  maxMemoryPerWorker?: number
  /** A worker whose main thread has not turned for this long is ended, ms. Default never. */
  maxStall?: number
  /** Jobs remembered for snapshots. Default 300. */
  taskHistory?: number
  /** A job that began this often on workers that died is dead-lettered. Default 3. */
  maxLosses?: number
  /** Attempts of a job whose message names none. Default 3. */
  maxAttempts?: number
  /** The wait between attempts when neither message nor task says. Default exponential from 1,000 to 60,000 with jitter 0.2. */
  backoff?: Backoff
  /** Per task: what its messages do not say. */
  taskDefaults?: Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff; rateLimit?: string }>>
  /** What a job that names no known task does. Default 'retry': it waits, up to `maxAttempts`. */
  unknownTask?: 'retry' | 'dead-letter'
  /** ms from the start of a job until the signal of its task aborts, unless message or task says. Default none. */
  softTimeLimit?: number
  /** ms from the start of a job until its worker is ended, unless message or task says. Default none. */
  timeLimit?: number
  /** Bytes of one body once decompressed, at the most. Default 64 MiB. */
  maxBodySize?: number
  logger?: PoolLogger
}

export interface ShutdownReport {
  /** Every job in flight ended by itself within the grace. */
  clean: boolean
  /** Deliveries given back unbegun. */
  requeued: number
  /** Jobs that had begun and were killed. */
  killed: number
}

/** A node at work. */
export interface FarmNode extends AsyncDisposable {
  readonly name: string
  stats(): NodeStats
  snapshot(): NodeSnapshot
  /** What the control exchange can ask, asked here. */
  command(command: Command): Promise<unknown>
  /** Calls `listener` with each event of this node until the function it returns is called. */
  onEvent(listener: (event: FarmEvent) => void): () => void
  /** Stops taking jobs, drains, then ends what is left. A second call, with less grace, hurries the first. */
  shutdown(options?: { grace?: number; reason?: string }): Promise<ShutdownReport>
  /** Resolves when the node has shut down, whoever asked for it. */
  readonly done: Promise<ShutdownReport>
}
