import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { arrayOf, bytes, count, flag, isString, knownNames, milliseconds, millisecondsOrNever, oneOf, plainObject, refuse } from '../util/checks.js'
import type { Dispatch, PoolLogger, PoolOptions } from './types.js'
import { checkExecArgv } from './worker/exec-argv.js'
import { inheritedEnv, inheritedExecArgv } from './worker/inherited-options.js'

/** Workers at the most that one pool may be asked for: beyond it is a mistake, not a wish. */
const MAX_WORKERS = 10_000
const MAX_CONCURRENCY = 10_000

/** The options as the pool uses them: validated, defaults filled in. Limits that are off are 0 or Infinity. */
export interface Settings {
  tasks: string[]
  minWorkers: number
  maxWorkers: number
  concurrency: number
  dispatch: Dispatch
  maxQueue: number
  /** ms, 0 for none. */
  softTimeLimit: number
  timeLimit: number
  maxJobsPerWorker: number
  maxAgePerWorker: number
  maxMemoryPerWorker: number
  hardMemoryLimit: number
  aliveTimeout: number
  cancelGrace: number
  drainTimeout: number
  lostWorkerTimeout: number
  maintainInterval: number
  heartbeatInterval: number
  heartbeatTimeout: number
  keepAlive: number
  maxPutBacks: number
  maxMessageSize: number
  spare: number
  watchdog: boolean
  killTree: boolean
  output: 'inherit' | 'ignore' | 'capture'
  env: Record<string, string | undefined>
  execArgv: readonly string[]
  cwd: string | undefined
  logger: PoolOptions['logger']
}

const NAMES = [
  'tasks',
  'workers',
  'concurrency',
  'dispatch',
  'maxQueue',
  'softTimeLimit',
  'timeLimit',
  'maxJobsPerWorker',
  'maxAgePerWorker',
  'maxMemoryPerWorker',
  'hardMemoryLimit',
  'aliveTimeout',
  'cancelGrace',
  'drainTimeout',
  'lostWorkerTimeout',
  'maintainInterval',
  'heartbeatInterval',
  'heartbeatTimeout',
  'keepAlive',
  'maxPutBacks',
  'maxMessageSize',
  'spare',
  'watchdog',
  'killTree',
  'output',
  'env',
  'execArgv',
  'cwd',
  'logger',
] as const satisfies readonly (keyof PoolOptions)[]

/** Validates the options of `createPool`. Throws TypeError naming the option. */
export const readOptions = (given: unknown): Settings => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError("createPool wants an options object: createPool({ tasks: new URL('./tasks.js', import.meta.url) }).")
  }
  knownNames('createPool', given, NAMES)
  const options = given as Record<string, unknown>
  const read = <T>(name: (typeof NAMES)[number], check: (name: string, value: unknown) => T, fallback: T): T =>
    options[name] === undefined ? fallback : check(name, options[name])
  const atLeast = (min: number, max?: number) => (name: string, value: unknown) => count(name, value, min, max)

  const [minWorkers, maxWorkers] = readWorkers(options.workers)
  const softTimeLimit = read('softTimeLimit', milliseconds, 0)
  const timeLimit = read('timeLimit', milliseconds, 0)
  if (timeLimit > 0 && timeLimit < softTimeLimit)
    throw refuse('timeLimit', `at least the softTimeLimit of ${softTimeLimit} ms (it ends what the soft limit only asks)`, timeLimit)
  const maxMemoryPerWorker = read('maxMemoryPerWorker', bytes, Number.POSITIVE_INFINITY)
  const hardMemoryLimit = read('hardMemoryLimit', bytes, 1.5 * maxMemoryPerWorker)
  if (hardMemoryLimit < maxMemoryPerWorker && options.maxMemoryPerWorker !== undefined) {
    throw refuse('hardMemoryLimit', `at least maxMemoryPerWorker, ${maxMemoryPerWorker} bytes`, hardMemoryLimit)
  }
  const heartbeatInterval = read('heartbeatInterval', milliseconds, 1_000)
  const heartbeatTimeout = read('heartbeatTimeout', milliseconds, Math.max(7_000, 3 * heartbeatInterval))
  if (heartbeatTimeout < 2 * heartbeatInterval) {
    throw refuse(
      'heartbeatTimeout',
      `at least twice the heartbeatInterval of ${heartbeatInterval} ms, or a healthy worker is taken for frozen`,
      heartbeatTimeout,
    )
  }
  const cwd = options.cwd === undefined ? undefined : readPath('cwd', options.cwd)

  return {
    tasks: readTasks(options.tasks),
    minWorkers,
    maxWorkers,
    concurrency: read('concurrency', atLeast(1, MAX_CONCURRENCY), 1),
    dispatch: read('dispatch', readDispatch, 'adaptive'),
    maxQueue: read('maxQueue', atLeast(1), Number.POSITIVE_INFINITY),
    softTimeLimit,
    timeLimit,
    maxJobsPerWorker: read('maxJobsPerWorker', atLeast(1), Number.POSITIVE_INFINITY),
    maxAgePerWorker: read('maxAgePerWorker', milliseconds, Number.POSITIVE_INFINITY),
    maxMemoryPerWorker,
    hardMemoryLimit,
    aliveTimeout: read('aliveTimeout', milliseconds, 4_000),
    cancelGrace: read('cancelGrace', milliseconds, 1_000),
    drainTimeout: read('drainTimeout', millisecondsOrNever, 60_000),
    lostWorkerTimeout: read('lostWorkerTimeout', milliseconds, 10_000),
    maintainInterval: read('maintainInterval', milliseconds, 5_000),
    heartbeatInterval,
    heartbeatTimeout,
    keepAlive: read('keepAlive', milliseconds, 30_000),
    maxPutBacks: read('maxPutBacks', atLeast(0), 5),
    maxMessageSize: read('maxMessageSize', (name, value) => Math.min(bytes(name, value), 0xffff_0000), 256 * 1024 * 1024),
    spare: read('spare', atLeast(0, MAX_WORKERS), 0),
    watchdog: read('watchdog', flag, true),
    killTree: read('killTree', flag, true),
    output: read('output', (name, value) => oneOf(name, value, ['inherit', 'ignore', 'capture']), 'inherit'),
    env: inheritedEnv(read('env', readEnv, process.env), process.env),
    execArgv: read('execArgv', readExecArgv, inheritedExecArgv(process.execArgv)),
    cwd,
    logger: read('logger', readLogger, undefined),
  }
}

const readWorkers = (given: unknown): [min: number, max: number] => {
  const cpus = availableParallelism()
  if (given === undefined) return [cpus, cpus]
  if (typeof given === 'number') {
    const workers = count('workers', given, 1, MAX_WORKERS)
    return [workers, workers]
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw refuse('workers', 'a whole number of at least 1, or { min, max }', given)
  const prototype: unknown = Object.getPrototypeOf(given)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw refuse('workers', 'a whole number of at least 1, or { min, max }', given)
  knownNames('workers', given, ['min', 'max'])
  const { min, max } = given as { min?: unknown; max?: unknown }
  const least = min === undefined ? 1 : count('workers.min', min, 0, MAX_WORKERS)
  const most = max === undefined ? Math.max(cpus, least) : count('workers.max', max, 1, MAX_WORKERS)
  if (most < least) throw refuse('workers.max', `at least workers.min, ${least}`, most)
  return [least, most]
}

const readDispatch = (name: string, value: unknown): Dispatch =>
  typeof value === 'number' ? count(name, value, 1, 100_000) : oneOf<'adaptive' | 'fair' | 'fast'>(name, value, ['adaptive', 'fair', 'fast'])

const readTasks = (given: unknown): string[] => {
  const one = "a module: new URL('./tasks.js', import.meta.url), a file: URL or a path"
  const wants = `${one}, or a non-empty array of them`
  if (given === undefined) throw new TypeError(`Option 'tasks' is missing: it must be ${wants}.`)
  const all: unknown[] = Array.isArray(given) ? given : [given]
  if (all.length === 0) throw refuse('tasks', wants, given)
  const urls = all.map((each, index) => {
    const name = Array.isArray(given) ? `tasks[${index}]` : 'tasks'
    if (each instanceof URL) {
      if (each.protocol !== 'file:') throw refuse(name, 'a file: URL', each.href)
      return each.href
    }
    if (typeof each !== 'string' || each === '') throw refuse(name, Array.isArray(given) ? one : wants, each)
    if (each.startsWith('file:')) return new URL(each).href
    return pathToFileURL(resolve(each)).href
  })
  return [...new Set(urls)]
}

const readPath = (name: string, given: unknown): string => {
  if (given instanceof URL && given.protocol === 'file:') return fileURLToPath(given)
  if (typeof given !== 'string' || given === '') throw refuse(name, 'a path or a file: URL', given)
  return given.startsWith('file:') ? fileURLToPath(given) : resolve(given)
}

const readEnv = (name: string, given: unknown): Record<string, string | undefined> => {
  const env = plainObject(name, given)
  for (const [key, value] of Object.entries(env)) {
    if (value !== undefined && typeof value !== 'string') throw refuse(`${name}.${key}`, 'a string', value)
  }
  return env as Record<string, string | undefined>
}

const readExecArgv = (name: string, given: unknown): readonly string[] => {
  const words = arrayOf(name, given, 'an array of strings', 'a string', isString)
  checkExecArgv(name, words)
  return [...words]
}

const readLogger = (name: string, given: unknown): PoolOptions['logger'] => {
  const wants = 'a pino logger (or an object with its methods trace, debug, info, warn and error)'
  if (typeof given !== 'object' || given === null) throw refuse(name, wants, given)
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) {
    if (typeof (given as Record<string, unknown>)[level] !== 'function') throw refuse(name, wants, given)
  }
  return guarded(given as PoolLogger)
}

/** A logger that throws must not stop the pool half way: as with a listener, its error comes up by itself. */
const guarded = (logger: PoolLogger): PoolLogger => {
  const call =
    (level: keyof PoolLogger) =>
    (details: object, message: string): void => {
      try {
        logger[level](details, message)
      } catch (error) {
        process.nextTick(() => {
          throw error
        })
      }
    }
  return { trace: call('trace'), debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}
