import { NODE_OPTIONS } from '../../node/options.js'
import type { NodeOptions } from '../../node/types.js'
import { LIMITS } from '../../util/limits.js'
import { optionValue, readKnown } from '../../util/option-table.js'
import { UsageError } from '../exit.js'
import { brokerKind } from './address.js'
import { type BrokerSettings, readBroker } from './broker.js'
import { refuseFlags } from './faktory.js'
import { type HttpSettings, readHttp } from './http.js'
import { findModules, findRoots } from './modules.js'
import { checkLimits, type Environment, type Flags, readSetting, type Setting } from './setting.js'
import { count, nodeNameText, oneOf, type Reader, range, readerOf, sizeOrNone } from './values.js'

interface NodeFlag {
  /** As commander takes it. */
  readonly usage: string
  readonly variable?: string
  /** Default: by the library's check. */
  readonly reader?: Reader<unknown>
}

/** The flags and variables of a node's options. Bounds, defaults and help are those of the library's table. */
const FLAGS = {
  prefetchPerWorker: { usage: '--prefetch <count>', variable: 'PREFETCH_PER_WORKER' },
  concurrency: { usage: '-c, --concurrency <count>' },
  scaleUpAfter: { usage: '--scale-up-after <time>' },
  keepAlive: { usage: '--keep-alive <time>' },
  scaleUpBatch: { usage: '--scale-up-batch <count>', variable: 'SCALE_UP_BATCH_SIZE' },
  scaleDownBatch: { usage: '--scale-down-batch <count>', variable: 'SCALE_DOWN_BATCH_SIZE' },
  scaleCheckInterval: { usage: '--scale-interval <time>', variable: 'SCALE_CHECK_INTERVAL_S' },
  cancelGrace: { usage: '--cancel-grace <time>' },
  shutdownGrace: { usage: '--grace <time>', variable: 'WORKER_SHUTDOWN_GRACE_S' },
  heartbeatInterval: { usage: '--heartbeat <time>', variable: 'HEARTBEAT_INTERVAL_S' },
  maxStall: { usage: '--max-stall <time>', variable: 'MAX_STALL_S' },
  maxJobsPerWorker: { usage: '--max-jobs-per-worker <count>' },
  maxMemoryPerWorker: { usage: '--max-memory-per-worker <size>' },
  niceness: { usage: '--niceness <value>' },
  launcher: { usage: '--launcher <what>' },
  sharedMemory: { usage: '--shared-memory <size>', reader: sizeOrNone },
  maxLosses: { usage: '--max-losses <count>', variable: 'MAX_LOSSES' },
  taskHistory: { usage: '--history <count>', variable: 'TASK_HISTORY_MAX' },
  softTimeLimit: { usage: '--soft-time-limit <time>' },
  timeLimit: { usage: '--time-limit <time>' },
  maxAttempts: { usage: '--max-attempts <count>' },
  unknownTask: { usage: '--unknown-task <what>' },
  unknownTaskTimeout: { usage: '--unknown-task-timeout <time>' },
  name: { usage: '--name <name>', reader: nodeNameText },
} as const satisfies { [K in keyof NodeOptions]?: NodeFlag }

type FlagOption = keyof typeof FLAGS

const OPTIONS = Object.entries(FLAGS) as [FlagOption, NodeFlag][]
const flagOf = (option: FlagOption): string => /--[\w-]+/.exec(FLAGS[option].usage)![0]

const SETTINGS = OPTIONS.map(([option, { variable, reader = readerOf(NODE_OPTIONS[option]) }]): [FlagOption, Setting<unknown>] => [
  option,
  { flag: flagOf(option), variable, reader },
])

/** The values of a node's options that are not given. */
export const NODE_DEFAULTS = readKnown(NODE_OPTIONS, {})

const phraseOf = (option: keyof typeof NODE_OPTIONS): string =>
  NODE_OPTIONS[option].doc.replace(/`(\w+)`/g, (_, named: string) => NODE_SOURCES[named] ?? named).replaceAll('`', '')

/** In seconds where it is a time. */
const defaultText = (option: keyof typeof NODE_OPTIONS): string => {
  const { unit, defaultText } = NODE_OPTIONS[option]
  const value = NODE_DEFAULTS[option]
  return value === undefined ? 'none' : (defaultText ?? String(unit === 'ms' ? Number(value) / 1_000 : value))
}

const helpOf = (option: FlagOption, { variable }: NodeFlag): string => {
  const fallback = defaultText(option)
  const unit = NODE_OPTIONS[option].unit === 'ms' ? 's' : ''
  const own = NOT_FOR_FAKTORY.some(([flag]) => flag === flagOf(option)) ? '; not for Faktory' : ''
  const preset = fallback === 'none' ? '' : `; default ${fallback}${unit}${faktoryDefault(option, unit)}`
  return [phraseOf(option), preset, own, variable === undefined ? '' : ` (${variable})`].join('')
}

/** Defaults that are others under Faktory. In seconds where it is a time. */
const FAKTORY_DEFAULTS: { readonly [K in keyof typeof NODE_OPTIONS]?: number } = { shutdownGrace: 25 }

const faktoryDefault = (option: keyof typeof NODE_OPTIONS, unit = ''): string =>
  FAKTORY_DEFAULTS[option] === undefined ? '' : `, Faktory: ${FAKTORY_DEFAULTS[option]}${unit}`

/** By option of a node: its flag, or its variable if it has no flag. */
export const NODE_SOURCES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(OPTIONS.map(([option]) => [option, flagOf(option)])),
  minWorkers: 'MIN_WORKERS',
  maxWorkers: 'MAX_WORKERS',
}

export const nodeFlags = (): [usage: string, help: string][] => OPTIONS.map(([option, flag]) => [flag.usage, helpOf(option, flag)])

const variable = (option: keyof typeof NODE_OPTIONS, name: string) => [name, `${defaultText(option)}${faktoryDefault(option)}`, phraseOf(option)] as const

/** For the help: variable, default and meaning. */
export const NODE_VARIABLES = [
  variable('minWorkers', 'MIN_WORKERS'),
  variable('maxWorkers', 'MAX_WORKERS'),
  ...OPTIONS.flatMap(([option, flag]) => (flag.variable === undefined ? [] : [variable(option, flag.variable)])),
]

const MIN: Setting<number> = { variable: 'MIN_WORKERS', reader: count(1, LIMITS.workers) }
const MAX: Setting<number> = { variable: 'MAX_WORKERS', reader: count(1, LIMITS.workers) }
const WORKERS: Setting<number> = { flag: '--workers', reader: count(1, LIMITS.workers) }
const AUTOSCALE: Setting<{ min: number; max: number }> = { flag: '--autoscale', reader: range }

/** Levels of pino: each includes those after it. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const DEFAULT_LOG_LEVEL: LogLevel = 'info'
const LOG_LEVEL: Setting<LogLevel> = { flag: '--log-level', variable: 'ASYNC_FARM_LOG_LEVEL', reader: oneOf(...LOG_LEVELS) }

export interface WorkSettings {
  readonly broker: BrokerSettings
  readonly node: NodeOptions
  readonly http: HttpSettings | undefined
  readonly logLevel: LogLevel
  readonly tui: boolean
}

const FAKTORY_RETRIES = 'It tries a job again by its own rules; its publisher says how often (--retry).'
const FAKTORY_UNKNOWN = 'A job of an unknown task fails, and is tried again.'

/** Flags of `prefork work` that have no effect under Faktory, with what happens instead. */
const NOT_FOR_FAKTORY: readonly (readonly [flag: string, reason: string])[] = [
  [flagOf('maxAttempts'), FAKTORY_RETRIES],
  [flagOf('unknownTask'), FAKTORY_UNKNOWN],
  [flagOf('unknownTaskTimeout'), FAKTORY_UNKNOWN],
]

/** The settings of `prefork work`. Throws UsageError naming the flag or the variable. */
export const readWork = (flags: Flags, env: Environment, folder: string): WorkSettings => {
  const node: Record<string, unknown> = { ...readScale(flags, env) }
  for (const [option, setting] of SETTINGS) {
    const value = readSetting(setting, flags, env)
    if (value !== undefined) node[option] = value
  }
  // As in async farm, where the variable comes from: it says how many jobs a process runs.
  if (flags.prefetch === undefined && node.concurrency === undefined && node.prefetchPerWorker !== undefined) node.concurrency = node.prefetchPerWorker
  const broker = readBroker(flags, env)
  const isFaktory = brokerKind(broker.url) === 'Faktory'
  if (isFaktory) {
    for (const [flag, reason] of NOT_FOR_FAKTORY) refuseFlags([flag], flags, broker.url, reason)
  }
  const options: NodeOptions = node
  if (flags.arguments === false) options.showArguments = false
  options.tasks = findModules('--tasks', flags.tasks, folder)
  options.imports = findModules('--import', flags.import, folder)
  options.roots = findRoots(flags.root, folder)
  if (options.tasks === undefined && options.roots === undefined) {
    throw new UsageError('Which tasks? Name the module that exports them: prefork work --tasks ./tasks.js')
  }
  const { prefetchPerWorker, concurrency = NODE_DEFAULTS.concurrency } = options
  if (prefetchPerWorker !== undefined && concurrency > prefetchPerWorker) {
    throw new UsageError(
      `--concurrency must be at most the ${prefetchPerWorker} jobs that the node holds for each worker (--prefetch, PREFETCH_PER_WORKER); it was given ${concurrency}.`,
    )
  }
  checkLimits(options)
  return {
    broker,
    node: options,
    http: readHttp(flags, env),
    logLevel: readLogLevel(flags, env),
    tui: flags.tui === true,
  }
}

/** `--verbose` stands for `--log-level debug`, where no level is given. */
const readLogLevel = (flags: Flags, env: Environment): LogLevel => {
  const verbose = flags.verbose === true && flags.logLevel === undefined
  return verbose ? 'debug' : (readSetting(LOG_LEVEL, flags, env) ?? DEFAULT_LOG_LEVEL)
}

const readScale = (flags: Flags, env: Environment): { minWorkers: number; maxWorkers: number } => {
  const fixed = readSetting(WORKERS, flags, env)
  const scale = readSetting(AUTOSCALE, flags, env)
  if (fixed !== undefined && scale !== undefined) throw new UsageError('--workers and --autoscale exclude each other: a fixed number, or least and most.')
  if (fixed !== undefined) return { minWorkers: fixed, maxWorkers: fixed }
  if (scale !== undefined) return { minWorkers: scale.min, maxWorkers: scale.max }
  const minWorkers = optionValue('minWorkers', NODE_OPTIONS.minWorkers, readSetting(MIN, flags, env))
  const maxWorkers = optionValue('maxWorkers', NODE_OPTIONS.maxWorkers, readSetting(MAX, flags, env), { minWorkers })
  if (maxWorkers < minWorkers) throw new UsageError(`MAX_WORKERS must be at least MIN_WORKERS, ${minWorkers}; it was given '${maxWorkers}'.`)
  return { minWorkers, maxWorkers }
}
