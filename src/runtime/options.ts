import type { Pool } from '../pool/pool.js'
import type { PoolLogger } from '../pool/types.js'
import { knownNames, refuse } from '../util/checks.js'
import type { Backoff } from './delivery.js'
import type { FarmEventBody } from './report/report.js'

/** Options of the runtime. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface RuntimeOptions {
  /** The node's name, for the history that travels with messages. Required. */
  node: string
  /** Receives each event of a job. Required. */
  report: (event: FarmEventBody) => void
  /** False: nobody listens just now, and the commonest events (received, started, succeeded) are not made. Default: somebody always does. */
  heard?: () => boolean
  /** Real paths of the folders below which `module/path#export` may name a task. Default none. */
  roots?: readonly string[]
  /** A job that began this often on workers that died is dead-lettered. Default 3. */
  maxLosses?: number
  /** Attempts of a job whose message and task name none. Default 3. */
  maxAttempts?: number
  /** The wait between attempts when neither message nor task says. Default exponential from 1,000 to 60,000 with jitter 0.2. */
  backoff?: Backoff
  /** Per task: what its messages do not say. */
  taskDefaults?: Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff; rateLimit?: string }>>
  /** What a job that names no known task does. Default 'retry': it waits, up to `maxAttempts`. */
  unknownTask?: 'retry' | 'dead-letter'
  /** Times that a message may come back without having been tried, where the broker does not count that. Default 20. */
  maxRequeues?: number
  /** Bytes of one body once decompressed, at the most. Default 64 MiB. */
  maxBodySize?: number
  /** Jobs remembered for snapshots. Default 300. */
  taskHistory?: number
  /** Finished deliveries, and revoked ids, that are recognised. Default 10,000 of each. */
  memory?: number
  logger?: PoolLogger
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the type of its tasks; names and arguments come from messages.
type AnyPool = Pool<any>

/** The pool, as far as the runtime needs it. `Extract`: what is internal is not in the declarations of the package. */
export type RuntimePool = Pick<AnyPool, 'submit' | 'on' | 'off' | 'tasks' | Extract<keyof AnyPool, 'submitFollowed' | 'taskInfo'>>

export const DEFAULT_BACKOFF: Backoff = { kind: 'exponential', delay: 1_000, maxDelay: 60_000, jitter: 0.2 }

export type RuntimeSettings = Required<Omit<RuntimeOptions, 'logger'>> & Pick<RuntimeOptions, 'logger'>

const NAMES = [
  'node',
  'report',
  'heard',
  'roots',
  'maxLosses',
  'maxAttempts',
  'backoff',
  'taskDefaults',
  'unknownTask',
  'maxRequeues',
  'maxBodySize',
  'taskHistory',
  'memory',
  'logger',
] as const satisfies readonly (keyof RuntimeOptions)[]

/** Throws TypeError for a name that there is not, and where a required one is missing. */
const check = (options: RuntimeOptions): void => {
  knownNames('Runtime', options, NAMES)
  if (typeof options.node !== 'string' || options.node === '') throw refuse('node', 'a non-empty string', options.node)
  if (typeof options.report !== 'function') throw refuse('report', 'a function that gets each event', options.report)
}

export const runtimeSettings = (options: RuntimeOptions): RuntimeSettings => {
  check(options)
  return filled(options)
}

const filled = (options: RuntimeOptions): RuntimeSettings => ({
  node: options.node,
  report: options.report,
  heard: options.heard ?? (() => true),
  roots: options.roots ?? [],
  maxLosses: options.maxLosses ?? 3,
  maxAttempts: options.maxAttempts ?? 3,
  backoff: options.backoff ?? DEFAULT_BACKOFF,
  taskDefaults: options.taskDefaults ?? {},
  unknownTask: options.unknownTask ?? 'retry',
  maxRequeues: options.maxRequeues ?? 20,
  maxBodySize: options.maxBodySize ?? 64 * 1024 * 1024,
  taskHistory: options.taskHistory ?? 300,
  memory: options.memory ?? 10_000,
  logger: options.logger,
})
