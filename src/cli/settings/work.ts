import type { NodeOptions } from '../../node/types.js'
import { LIMITS } from '../../util/limits.js'
import { UsageError } from '../exit.js'
import { type BrokerSettings, readBroker } from './broker.js'
import { checkLimits } from './limits.js'
import { findModules, findRoots } from './modules.js'
import { type Environment, type Flags, readSetting, type Setting } from './setting.js'
import { count, duration, name, nodeName, oneOf, port, range, size } from './values.js'

/** What a node takes from flags and variables alone; the defaults are the node's. */
const SETTINGS = {
  prefetchPerWorker: { flag: '--prefetch', variable: 'PREFETCH_PER_WORKER', reader: count(1, LIMITS.jobsPerWorker) },
  concurrency: { flag: '--concurrency', variable: undefined, reader: count(1, LIMITS.jobsPerWorker) },
  scaleUpBatch: { flag: '--scale-up-batch', variable: 'SCALE_UP_BATCH_SIZE', reader: count(1, LIMITS.workers) },
  scaleDownBatch: { flag: '--scale-down-batch', variable: 'SCALE_DOWN_BATCH_SIZE', reader: count(1, LIMITS.workers) },
  scaleCheckInterval: { flag: '--scale-interval', variable: 'SCALE_CHECK_INTERVAL_S', reader: duration() },
  shutdownGrace: { flag: '--grace', variable: 'WORKER_SHUTDOWN_GRACE_S', reader: duration({ zero: true }) },
  heartbeatInterval: { flag: '--heartbeat', variable: 'HEARTBEAT_INTERVAL_S', reader: duration() },
  maxJobsPerWorker: { flag: '--max-jobs-per-worker', variable: undefined, reader: count(1) },
  maxMemoryPerWorker: { flag: '--max-memory-per-worker', variable: undefined, reader: size },
  maxStall: { flag: '--max-stall', variable: 'MAX_STALL_S', reader: duration() },
  taskHistory: { flag: '--history', variable: 'TASK_HISTORY_MAX', reader: count(0, LIMITS.taskHistory) },
  maxLosses: { flag: '--max-losses', variable: 'MAX_LOSSES', reader: count(1, LIMITS.losses) },
  maxAttempts: { flag: '--max-attempts', variable: undefined, reader: count(1, LIMITS.attempts) },
  softTimeLimit: { flag: '--soft-time-limit', variable: undefined, reader: duration() },
  timeLimit: { flag: '--time-limit', variable: undefined, reader: duration() },
  unknownTask: { flag: '--unknown-task', variable: undefined, reader: oneOf('retry', 'dead-letter') },
  name: { flag: '--name', variable: undefined, reader: nodeName },
} as const satisfies { [K in keyof NodeOptions]?: Setting<NonNullable<NodeOptions[K]>> }

const MIN: Setting<number> = { flag: undefined, variable: 'MIN_WORKERS', reader: count(1, LIMITS.workers) }
const MAX: Setting<number> = { flag: undefined, variable: 'MAX_WORKERS', reader: count(1, LIMITS.workers) }
const WORKERS: Setting<number> = { flag: '--workers', variable: undefined, reader: count(1, LIMITS.workers) }
const AUTOSCALE: Setting<{ min: number; max: number }> = { flag: '--autoscale', variable: undefined, reader: range }
const HTTP: Setting<number> = { flag: '--http', variable: undefined, reader: port }
const HTTP_HOST: Setting<string> = { flag: '--http-host', variable: undefined, reader: name('a host') }

export interface WorkSettings {
  readonly broker: BrokerSettings
  readonly node: NodeOptions
  readonly http: { readonly port: number; readonly host: string } | undefined
  readonly verbose: boolean
  readonly tui: boolean
}

/** Everything that `prefork work` was told. Throws UsageError naming the flag or the variable. */
export const readWork = (flags: Flags, env: Environment, folder: string): WorkSettings => {
  const node: Record<string, unknown> = { ...readScale(flags, env) }
  for (const [option, setting] of Object.entries(SETTINGS) as [keyof typeof SETTINGS, Setting<unknown>][]) {
    const value = readSetting(setting, flags, env)
    if (value !== undefined) node[option] = value
  }
  const options: NodeOptions = node
  options.tasks = findModules('--tasks', flags.tasks, folder)
  options.imports = findModules('--import', flags.import, folder)
  options.roots = findRoots(flags.root, folder)
  if (options.tasks === undefined && options.roots === undefined) {
    throw new UsageError('Which tasks? Name the module that exports them: prefork work --tasks ./tasks.js')
  }
  const { prefetchPerWorker = 10, concurrency } = options
  if (concurrency !== undefined && concurrency > prefetchPerWorker) {
    throw new UsageError(`--concurrency must be at most the ${prefetchPerWorker} jobs that a worker holds (--prefetch); it was given ${concurrency}.`)
  }
  checkLimits(options)
  const http = readSetting(HTTP, flags, env)
  const host = readSetting(HTTP_HOST, flags, env)
  if (http === undefined && host !== undefined) throw new UsageError('--http-host needs --http with a port: --http 9090 --http-host 0.0.0.0')
  return {
    broker: readBroker(flags, env),
    node: options,
    http: http === undefined ? undefined : { port: http, host: host ?? '127.0.0.1' },
    verbose: flags.verbose === true,
    tui: flags.tui === true,
  }
}

const readScale = (flags: Flags, env: Environment): { minWorkers: number; maxWorkers: number } => {
  const fixed = readSetting(WORKERS, flags, env)
  const scale = readSetting(AUTOSCALE, flags, env)
  if (fixed !== undefined && scale !== undefined) throw new UsageError('--workers and --autoscale exclude each other: a fixed number, or least and most.')
  if (fixed !== undefined) return { minWorkers: fixed, maxWorkers: fixed }
  if (scale !== undefined) return { minWorkers: scale.min, maxWorkers: scale.max }
  const minWorkers = readSetting(MIN, flags, env) ?? 1
  const maxWorkers = readSetting(MAX, flags, env) ?? Math.max(10, minWorkers)
  if (maxWorkers < minWorkers) throw new UsageError(`MAX_WORKERS must be at least MIN_WORKERS, ${minWorkers}; it was given '${maxWorkers}'.`)
  return { minWorkers, maxWorkers }
}
