import { randomInt } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { PoolLogger } from '../pool/types.js'
import type { Backoff } from '../runtime/delivery.js'
import { DEFAULT_BACKOFF } from '../runtime/options.js'
import { parseRate } from '../runtime/rate-limits.js'
import { bytes, count, knownNames, milliseconds, oneOf, plainObject, refuse } from '../util/checks.js'
import { LIMITS } from '../util/limits.js'
import type { NodeOptions } from './types.js'

/** The names that there are. */
export const NODE_OPTION_NAMES = [
  'tasks',
  'roots',
  'imports',
  'name',
  'minWorkers',
  'maxWorkers',
  'prefetchPerWorker',
  'concurrency',
  'scaleUpBatch',
  'scaleDownBatch',
  'scaleCheckInterval',
  'shutdownGrace',
  'heartbeatInterval',
  'maxJobsPerWorker',
  'maxMemoryPerWorker',
  'maxStall',
  'taskHistory',
  'maxLosses',
  'maxAttempts',
  'backoff',
  'taskDefaults',
  'unknownTask',
  'softTimeLimit',
  'timeLimit',
  'maxBodySize',
  'logger',
] as const satisfies readonly (keyof NodeOptions)[]

/** The options as the node uses them: validated, defaults filled in. Times in ms; limits that are off are undefined. */
export interface NodeSettings {
  tasks: (URL | string)[]
  /** Real paths. */
  roots: string[]
  /** file: URLs, or the names of packages. */
  imports: string[]
  name: string
  minWorkers: number
  maxWorkers: number
  prefetchPerWorker: number
  concurrency: number
  scaleUpBatch: number
  scaleDownBatch: number
  scaleCheckInterval: number
  shutdownGrace: number
  heartbeatInterval: number
  maxJobsPerWorker: number | undefined
  maxMemoryPerWorker: number | undefined
  maxStall: number | undefined
  taskHistory: number
  maxLosses: number
  maxAttempts: number
  backoff: Backoff
  taskDefaults: Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff; rateLimit?: string }>>
  unknownTask: 'retry' | 'dead-letter'
  softTimeLimit: number | undefined
  timeLimit: number | undefined
  maxBodySize: number
  logger: PoolLogger | undefined
}

/** Validates the options of a node. Throws TypeError naming the option. */
export const readNodeOptions = (given: unknown): NodeSettings => {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TypeError("A node wants an options object: { tasks: new URL('./tasks.js', import.meta.url) }.")
  knownNames('the node', given, NODE_OPTION_NAMES)
  const options = given as Record<string, unknown>
  const read = <T, F>(name: (typeof NODE_OPTION_NAMES)[number], check: (name: string, value: unknown) => T, fallback: F): T | F =>
    options[name] === undefined ? fallback : check(name, options[name])
  const from =
    (min: number, max: number) =>
    (name: string, value: unknown): number =>
      count(name, value, min, max)

  const tasks = read('tasks', list, [])
  const roots = read('roots', (name, value) => list(name, value).map((each) => folder(name, each)), [])
  if (tasks.length === 0 && roots.length === 0)
    throw new TypeError("Option 'tasks' is missing: the module or modules whose exported functions are the tasks (or 'roots', below which messages name them).")
  const minWorkers = read('minWorkers', from(1, LIMITS.workers), 1)
  const maxWorkers = read('maxWorkers', from(1, LIMITS.workers), Math.max(10, minWorkers))
  if (maxWorkers < minWorkers) throw refuse('maxWorkers', `at least minWorkers, ${minWorkers}`, maxWorkers)
  const prefetchPerWorker = read('prefetchPerWorker', from(1, LIMITS.jobsPerWorker), 10)
  const concurrency = read('concurrency', from(1, LIMITS.jobsPerWorker), prefetchPerWorker)
  if (concurrency > prefetchPerWorker)
    throw refuse('concurrency', `at most prefetchPerWorker, ${prefetchPerWorker} (a worker cannot run more than it holds)`, concurrency)
  const softTimeLimit = read('softTimeLimit', milliseconds, undefined)
  const timeLimit = read('timeLimit', milliseconds, undefined)
  if (timeLimit !== undefined && softTimeLimit !== undefined && timeLimit < softTimeLimit)
    throw refuse('timeLimit', `at least the softTimeLimit of ${softTimeLimit} ms (it ends what the soft limit only asks)`, timeLimit)

  return {
    tasks,
    roots,
    imports: read('imports', (name, value) => list(name, value).map(importUrl), []),
    name: read('name', nodeName, `${hostname()}-${process.pid}-${letters(4)}`),
    minWorkers,
    maxWorkers,
    prefetchPerWorker,
    concurrency,
    scaleUpBatch: read('scaleUpBatch', from(1, LIMITS.workers), 2),
    scaleDownBatch: read('scaleDownBatch', from(1, LIMITS.workers), 1),
    scaleCheckInterval: read('scaleCheckInterval', milliseconds, 1_000),
    shutdownGrace: read('shutdownGrace', grace, 15_000),
    heartbeatInterval: read('heartbeatInterval', milliseconds, 1_000),
    maxJobsPerWorker: read('maxJobsPerWorker', from(1, Number.MAX_SAFE_INTEGER), undefined),
    maxMemoryPerWorker: read('maxMemoryPerWorker', bytes, undefined),
    maxStall: read('maxStall', milliseconds, undefined),
    taskHistory: read('taskHistory', from(0, LIMITS.taskHistory), 300),
    maxLosses: read('maxLosses', from(1, LIMITS.losses), 3),
    maxAttempts: read('maxAttempts', from(1, LIMITS.attempts), 3),
    backoff: read('backoff', readBackoff, DEFAULT_BACKOFF),
    taskDefaults: read('taskDefaults', readTaskDefaults, {}),
    unknownTask: read('unknownTask', (name, value) => oneOf<'retry' | 'dead-letter'>(name, value, ['retry', 'dead-letter']), 'retry' as const),
    softTimeLimit,
    timeLimit,
    maxBodySize: read('maxBodySize', bytes, 64 * 1024 * 1024),
    logger: read('logger', readLogger, undefined),
  }
}

/** ms; 0 ends what runs at once. */
export const grace = (name: string, value: unknown): number => (value === 0 ? 0 : milliseconds(name, value))

const list = (name: string, given: unknown): (URL | string)[] => {
  const several = Array.isArray(given)
  const wants = `a path, a file: URL${several ? '' : ', or an array of them'}: new URL('./tasks.js', import.meta.url)`
  return (several ? given : [given]).map((each: unknown, index) => {
    if (each instanceof URL ? each.protocol !== 'file:' : typeof each !== 'string' || each === '')
      throw refuse(several ? `${name}[${index}]` : name, wants, each instanceof URL ? each.href : each)
    return each as URL | string
  })
}

const pathOf = (given: URL | string): string => (given instanceof URL || given.startsWith('file:') ? fileURLToPath(given) : resolve(given))

const folder = (name: string, given: URL | string): string => {
  const path = pathOf(given)
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw refuse(name, 'folders that exist', path)
  return realpathSync(path)
}

/** As `node --import` reads it: './boot.js' is a path, 'package/register' a package. */
const importUrl = (given: URL | string): string => {
  if (given instanceof URL) return given.href
  return /^(\.{0,2}\/|file:)/.test(given) ? pathToFileURL(pathOf(given)).href : given
}

const nodeName = (name: string, value: unknown): string => {
  if (typeof value !== 'string' || !/^[\w.@:-]{1,200}$/.test(value)) throw refuse(name, 'a name of letters, digits and . _ @ : - (at most 200)', value)
  return value
}

const letters = (length: number): string => Array.from({ length }, () => String.fromCharCode(97 + randomInt(26))).join('')

const BACKOFF_NAMES = ['kind', 'delay', 'maxDelay', 'jitter']

const readBackoff = (name: string, value: unknown): Backoff => {
  const given = plainObject(name, value)
  knownNames(name, given, BACKOFF_NAMES)
  const { maxDelay, jitter } = given
  if (jitter !== undefined && !(typeof jitter === 'number' && jitter >= 0 && jitter <= 1)) throw refuse(`${name}.jitter`, 'a share from 0 to 1', jitter)
  return {
    kind: oneOf<Backoff['kind']>(`${name}.kind`, given.kind, ['fixed', 'exponential']),
    delay: grace(`${name}.delay`, given.delay),
    ...(maxDelay === undefined ? {} : { maxDelay: milliseconds(`${name}.maxDelay`, maxDelay) }),
    ...(jitter === undefined ? {} : { jitter }),
  }
}

const readTaskDefaults = (name: string, value: unknown): NodeSettings['taskDefaults'] => {
  const tasks = plainObject(name, value)
  return Object.fromEntries(
    Object.entries(tasks).map(([task, each]) => {
      const at = `${name}.${task}`
      const { maxAttempts, backoff, rateLimit, ...rest } = plainObject(at, each)
      knownNames(at, rest, ['maxAttempts', 'backoff', 'rateLimit'])
      if (rateLimit !== undefined) rateOf(`${at}.rateLimit`, rateLimit)
      return [
        task,
        {
          ...(maxAttempts === undefined ? {} : { maxAttempts: count(`${at}.maxAttempts`, maxAttempts, 1) }),
          ...(backoff === undefined ? {} : { backoff: readBackoff(`${at}.backoff`, backoff) }),
          ...(rateLimit === undefined ? {} : { rateLimit: rateLimit as string }),
        },
      ]
    }),
  )
}

const rateOf = (name: string, value: unknown): void => {
  try {
    parseRate(value)
  } catch {
    throw refuse(name, "starts per second, minute or hour: '10/s', '600/m', '1000/h'", value)
  }
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const

const readLogger = (name: string, given: unknown): PoolLogger => {
  if (typeof given !== 'object' || given === null || LEVELS.some((level) => typeof (given as Record<string, unknown>)[level] !== 'function'))
    throw refuse(name, 'a pino logger (or an object with its methods trace, debug, info, warn and error)', given)
  return given as PoolLogger
}
