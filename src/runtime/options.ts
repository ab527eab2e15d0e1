import { logger } from '../pool/option-checks.js'
import type { Pool } from '../pool/pool.js'
import type { PoolLogger } from '../pool/types.js'
import {
  arrayOf,
  bytes,
  type Check,
  choice,
  countFrom,
  isString,
  knownNames,
  milliseconds,
  millisecondsOrZero,
  nonEmptyString,
  oneOf,
  plainObject,
  refuse,
} from '../util/checks.js'
import { LIMITS } from '../util/limits.js'
import { type OptionTable, type OptionValues, option, readOptions } from '../util/option-table.js'
import type { Backoff } from './delivery.js'
import { parseRate } from './rate-limits.js'
import type { FarmEventBody } from './report/report.js'

/** What a task's messages do not say. */
export type TaskDefaults = Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff; rateLimit?: string }>>

/** Options of the runtime. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface RuntimeOptions {
  /** The node's name, for the history that travels with messages. Required. */
  node: string
  /** Receives each event of a job. Required. */
  report: (event: FarmEventBody) => void
  /** False: no listener just now; the most frequent events (received, started, succeeded) are not made. Default: always true. */
  heard?: () => boolean
  /** Real paths of the folders below which `module/path#export` may name a task. Default none. */
  roots?: readonly string[]
  /** A job that began this often on workers that died becomes a dead letter. Default 3. */
  maxLosses?: number
  /** Attempts of a job whose message and task set none. Default 3. */
  maxAttempts?: number
  /** The wait between attempts, where neither message nor task sets one. Default exponential from 1,000 to 60,000 ms with jitter 0.2. */
  backoff?: Backoff
  /** By task: what its messages do not set. Default empty. */
  taskDefaults?: TaskDefaults
  /** What a job of an unknown task does. Default 'retry': it is retried, up to `maxAttempts`. */
  unknownTask?: 'retry' | 'dead-letter'
  /** How often a message may return without an attempt, where the broker does not count that. Default 20. */
  maxRequeues?: number
  /** The largest body in bytes, once decompressed. Default 64 MiB. */
  maxBodySize?: number
  /** Jobs remembered for snapshots. Default 300. */
  taskHistory?: number
  /** Finished deliveries that are recognised, and as many revoked ids. Default 10,000. */
  memory?: number
  /** A pino logger, or an object with its five methods. Default none. */
  logger?: PoolLogger
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the type of its tasks; names and arguments come from messages.
type AnyPool = Pool<any>

/** The pool, as far as the runtime needs it. `Extract`: what is internal is not in the declarations of the package. */
export type RuntimePool = Pick<AnyPool, 'submit' | 'on' | 'off' | 'tasks' | Extract<keyof AnyPool, 'submitFollowed' | 'taskInfo'>>

const share: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw refuse(name, 'a share from 0 to 1', value)
  return value
}

const BACKOFF_NAMES = ['kind', 'delay', 'maxDelay', 'jitter'] as const satisfies readonly (keyof Backoff)[]

/** The check of a backoff whose times these checks take. */
export const backoffOf =
  (delayOf: Check<number>, maxDelayOf: Check<number>): Check<Backoff> =>
  (name, value) => {
    const given = plainObject(name, value)
    knownNames(name, given, BACKOFF_NAMES)
    const { kind, delay, maxDelay, jitter } = given
    return {
      kind: oneOf<Backoff['kind']>(`${name}.kind`, kind, ['fixed', 'exponential']),
      delay: delayOf(`${name}.delay`, delay),
      ...(maxDelay === undefined ? undefined : { maxDelay: maxDelayOf(`${name}.maxDelay`, maxDelay) }),
      ...(jitter === undefined ? undefined : { jitter: share(`${name}.jitter`, jitter) }),
    }
  }

const backoff = backoffOf(millisecondsOrZero, milliseconds)

const rate: Check<string> = (name, value) => {
  try {
    parseRate(value)
    return value as string
  } catch {
    throw refuse(name, "starts per second, minute or hour: '10/s', '600/m', '1000/h'", value)
  }
}

const maxAttempts = countFrom(1)

const taskDefaults: Check<TaskDefaults> = (name, value) =>
  Object.fromEntries(
    Object.entries(plainObject(name, value)).map(([task, each]) => {
      const at = `${name}.${task}`
      const given = plainObject(at, each)
      knownNames(at, given, ['maxAttempts', 'backoff', 'rateLimit'])
      return [
        task,
        {
          ...(given.maxAttempts === undefined ? undefined : { maxAttempts: maxAttempts(`${at}.maxAttempts`, given.maxAttempts) }),
          ...(given.backoff === undefined ? undefined : { backoff: backoff(`${at}.backoff`, given.backoff) }),
          ...(given.rateLimit === undefined ? undefined : { rateLimit: rate(`${at}.rateLimit`, given.rateLimit) }),
        },
      ]
    }),
  )

const listener: Check<(event: FarmEventBody) => void> = (name, value) => {
  if (typeof value !== 'function') throw refuse(name, 'a function that gets each event', value)
  return value as (event: FarmEventBody) => void
}

const predicate: Check<() => boolean> = (name, value) => {
  if (typeof value !== 'function') throw refuse(name, 'a function that returns true or false', value)
  return value as () => boolean
}

const paths: Check<readonly string[]> = (name, value) => arrayOf(name, value, 'an array of paths', 'a path', isString)

const DEFAULT_BACKOFF: Backoff = { kind: 'exponential', delay: 1_000, maxDelay: 60_000, jitter: 0.2 }

/** What a node passes on to its runtime: rows of both tables. */
export const JOB_OPTIONS = {
  maxAttempts: option({ unit: 'attempts', check: countFrom(1, LIMITS.attempts), default: 3, doc: 'attempts of a job whose message and task set none' }),
  backoff: option({
    unit: 'object',
    check: backoff,
    default: DEFAULT_BACKOFF,
    defaultText: 'exponential',
    doc: 'the wait between attempts: `{ kind, delay, maxDelay, jitter }`; from 1,000 ms doubling to 60,000, up to a fifth less at random',
  }),
  taskDefaults: option({
    unit: 'by task',
    check: taskDefaults,
    default: (): TaskDefaults => ({}),
    defaultText: 'empty',
    doc: "`{ [task]: { maxAttempts, backoff, rateLimit } }` for what a message does not set; `rateLimit` as `'10/s'`",
  }),
  unknownTask: option({
    unit: 'word',
    check: choice('retry', 'dead-letter'),
    default: 'retry',
    doc: "a job of an unknown task is retried, up to `maxAttempts`; `'dead-letter'`: it becomes a dead letter at once",
  }),
  maxLosses: option({
    unit: 'times',
    check: countFrom(1, LIMITS.losses),
    default: 3,
    doc: 'a job that began so often on workers that died becomes a dead letter',
  }),
  maxBodySize: option({ unit: 'bytes', check: bytes, default: 64 * 1024 * 1024, doc: 'largest body, once decompressed' }),
  taskHistory: option({ unit: 'jobs', check: countFrom(0, LIMITS.taskHistory), default: 300, doc: 'jobs remembered for snapshots' }),
  logger: option({ unit: 'pino', check: logger, doc: 'any object with the methods `trace`, `debug`, `info`, `warn` and `error`' }),
}

/** The options of `new Runtime`. */
export const RUNTIME_OPTIONS = {
  node: option({ unit: 'text', check: nonEmptyString, default: () => nonEmptyString('node', undefined), defaultText: 'required', doc: "the node's name" }),
  report: option({ unit: 'function', check: listener, default: () => listener('report', undefined), defaultText: 'required', doc: 'gets each event of a job' }),
  heard: option({
    unit: 'function',
    check: predicate,
    default: () => (): boolean => true,
    defaultText: 'always true',
    doc: 'false: no listener just now; the most frequent events are not made',
  }),
  roots: option({
    unit: 'folders',
    check: paths,
    default: (): readonly string[] => [],
    defaultText: 'no folder',
    doc: 'real paths below which `module/path#export` may name a task',
  }),
  ...JOB_OPTIONS,
  maxRequeues: option({
    unit: 'times',
    check: countFrom(0),
    default: 20,
    doc: 'how often a message may return without an attempt, where the broker does not count that',
  }),
  memory: option({ unit: 'jobs', check: countFrom(1), default: 10_000, doc: 'finished deliveries, and revoked ids, that are recognised' }),
} satisfies OptionTable<RuntimeOptions>

/** The options as the runtime uses them: checked, defaults filled in. */
export type RuntimeSettings = OptionValues<typeof RUNTIME_OPTIONS>

/** Throws TypeError naming the option. */
export const runtimeSettings = (options: RuntimeOptions): RuntimeSettings => readOptions(RUNTIME_OPTIONS, 'Runtime', options)
