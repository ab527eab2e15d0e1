import { logger } from '../pool/option-checks.js'
import type { Pool } from '../pool/pool.js'
import type { PoolLogger } from '../pool/types.js'
import { type Backoff, backoff, maxAttempts } from '../util/backoff.js'
import {
  arrayOf,
  bytes,
  type Check,
  choice,
  countFrom,
  flag,
  isString,
  milliseconds,
  nonEmptyString,
  objectWith,
  plainObject,
  refusal,
} from '../util/checks.js'
import { LIMITS } from '../util/limits.js'
import { type OptionTable, type OptionValues, option, readOptions } from '../util/option-table.js'
import type { Intake } from './admission/isolation.js'
import { parseRate } from './admission/rate-limits.js'
import type { SpentRevocation } from './admission/revocations.js'
import type { FarmEventBody } from './report/report.js'

/** Defaults for options that a task's messages do not set. */
export type TaskDefaults = Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff; rateLimit?: string }>>

/** Options of the runtime. Times in milliseconds. An option given as `undefined` counts as absent. */
export interface RuntimeOptions {
  /** The node's name, for the history that travels with messages. Required. */
  node: string
  /** Receives each event of a job. Required. */
  report: (event: FarmEventBody) => void
  /** Receives each revocation by id that has met its job here: other nodes are to forget it. Default none. */
  revocationSpent?: (spent: SpentRevocation) => void
  /** Receives how many jobs wait for a rate limit, whenever that changes: they take up no room. Default none. */
  onWaiting?: (jobs: number) => void
  /**
   * Receives 'none' when nothing more is to be delivered, as a job is to run alone, then 'one' (one unsettled job at a time: more such jobs
   * may follow) or 'all'. The job begins when the promise that it returns is settled. Without it, whatever is delivered meanwhile is given back
   * at once. Default none.
   */
  onIntake?: (intake: Intake) => void | Promise<void>
  /** Called when a task has been measured for the first time: jobs of tasks that were never measured are not held ahead. Default none. */
  onMeasured?: () => void
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
  /** What a job of an unknown task does. Default 'retry': it waits for a node that knows it, up to `unknownTaskTimeout`. */
  unknownTask?: 'retry' | 'dead-letter'
  /** ms that a job waits, in all, for a node that knows its task, before it becomes a dead letter. Default 600,000. */
  unknownTaskTimeout?: number
  /**
   * Who tries failed jobs again. 'broker': the broker does, and keeps those that are dead, by its own rules. Every settlement of a job that did not succeed has the error, and `republish` or `dead-letter` says what
   * the broker is expected to do, by `maxAttempts` of the job. Default 'node'.
   */
  retries?: 'node' | 'broker'
  /** How often a message may return without an attempt, where the broker does not count that. Default 20. */
  maxRequeues?: number
  /** The largest body in bytes, once decompressed. Default 64 MiB. */
  maxBodySize?: number
  /** Jobs remembered for snapshots. Default 300. */
  taskHistory?: number
  /** Snapshots show the arguments of jobs, cut to 2,000 characters and without passwords. False: arguments are secret. Default true. */
  showArguments?: boolean
  /** Finished deliveries that are recognised, and as many revoked ids. Default 10,000. */
  memory?: number
  /** A pino logger, or an object with its five methods. Default none. */
  logger?: PoolLogger
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the type of its tasks; names and arguments come from messages.
type AnyPool = Pool<any>

/** The pool, as far as the runtime needs it. `Extract`: what is internal is not in the declarations of the package. */
export type RuntimePool = Pick<AnyPool, 'submit' | 'on' | 'off' | 'tasks' | Extract<keyof AnyPool, 'submitFollowed' | 'taskInfo'>>

/** A rate limit. */
export const rateText: Check<string> = (name, value) => {
  try {
    parseRate(value)
    return value as string
  } catch {
    throw refusal(name, "starts per second, minute or hour: '10/s', '600/m', '1000/h'", value)
  }
}

const taskDefaults: Check<TaskDefaults> = (name, value) =>
  Object.fromEntries(
    Object.entries(plainObject(name, value)).map(([task, each]) => {
      const at = `${name}.${task}`
      const given = objectWith(at, each, ['maxAttempts', 'backoff', 'rateLimit'])
      return [
        task,
        {
          ...(given.maxAttempts === undefined ? undefined : { maxAttempts: maxAttempts(`${at}.maxAttempts`, given.maxAttempts) }),
          ...(given.backoff === undefined ? undefined : { backoff: backoff(`${at}.backoff`, given.backoff) }),
          ...(given.rateLimit === undefined ? undefined : { rateLimit: rateText(`${at}.rateLimit`, given.rateLimit) }),
        },
      ]
    }),
  )

const functionThat =
  <F>(wants: string): Check<F> =>
  (name, value) => {
    if (typeof value !== 'function') throw refusal(name, `a function that ${wants}`, value)
    return value as F
  }

const listener = functionThat<(event: FarmEventBody) => void>('gets each event')
const revocationListener = functionThat<(spent: SpentRevocation) => void>('gets each revocation that has met its job')
const waitingListener = functionThat<(jobs: number) => void>('gets the number of jobs that wait')
const intakeListener = functionThat<(intake: Intake) => void | Promise<void>>('gets how much may be delivered while jobs are to run alone')
const measuredListener = functionThat<() => void>('takes note of a task that was measured for the first time')
const predicate = functionThat<() => boolean>('returns true or false')

const paths: Check<readonly string[]> = (name, value) => arrayOf(name, value, 'an array of paths', 'a path', isString)

const DEFAULT_BACKOFF: Backoff = { kind: 'exponential', delay: 1_000, maxDelay: 60_000, jitter: 0.2 }

/** The options that a node passes on to its runtime: rows of both tables. */
export const JOB_OPTIONS = {
  maxAttempts: option('attempts', countFrom(1, LIMITS.attempts), 3, 'attempts of a job whose message and task set none'),
  backoff: option(
    'object',
    backoff,
    DEFAULT_BACKOFF,
    'the wait between attempts: `{ kind, delay, maxDelay, jitter }`; from 1,000 ms doubling to 60,000, up to a fifth less at random',
    'exponential',
  ),
  taskDefaults: option(
    'by task',
    taskDefaults,
    (): TaskDefaults => ({}),
    "`{ [task]: { maxAttempts, backoff, rateLimit } }` for what a message does not set; `rateLimit` as `'10/s'`",
    'empty',
  ),
  unknownTask: option(
    'word',
    choice('retry', 'dead-letter'),
    'retry',
    "a job of an unknown task waits for a node that knows it, up to `unknownTaskTimeout`; `'dead-letter'`: it becomes a dead letter at once",
  ),
  unknownTaskTimeout: option('ms', milliseconds, 600_000, 'time that a job waits, in all, for a node that knows its task; no attempt is counted'),
  maxLosses: option('times', countFrom(1, LIMITS.losses), 3, 'a job that began so often on workers that died becomes a dead letter'),
  maxBodySize: option('bytes', bytes, 64 * 1024 * 1024, 'largest body, once decompressed'),
  taskHistory: option('jobs', countFrom(0, LIMITS.taskHistory), 300, 'jobs remembered for snapshots'),
  showArguments: option('boolean', flag, true, 'snapshots show the arguments of jobs, cut and without passwords; `false`: arguments are secret'),
  logger: option('pino', logger, undefined, 'any object with the methods `trace`, `debug`, `info`, `warn` and `error`'),
}

/** The options of `new Runtime`. */
export const RUNTIME_OPTIONS = {
  node: option('text', nonEmptyString, () => nonEmptyString('node', undefined), "the node's name", 'required'),
  report: option('function', listener, () => listener('report', undefined), 'gets each event of a job', 'required'),
  revocationSpent: option(
    'function',
    revocationListener,
    (): ((spent: SpentRevocation) => void) => () => {},
    'gets a revocation by id that has met its job here: other nodes are to forget it',
    'none',
  ),
  onWaiting: option(
    'function',
    waitingListener,
    (): ((jobs: number) => void) => () => {},
    'gets how many jobs wait for a rate limit, whenever that changes',
    'none',
  ),
  onIntake: option(
    'function',
    intakeListener,
    (): ((intake: Intake) => void | Promise<void>) => () => {},
    "gets 'none' when nothing more is to be delivered, as a job is to run alone, then 'one' (one unsettled job at a time) or 'all'",
    'none',
  ),
  onMeasured: option('function', measuredListener, (): (() => void) => () => {}, 'called when a task has been measured for the first time', 'none'),
  heard: option('function', predicate, () => (): boolean => true, 'false: no listener just now; the most frequent events are not made', 'always true'),
  roots: option('folders', paths, (): readonly string[] => [], 'real paths below which `module/path#export` may name a task', 'no folder'),
  ...JOB_OPTIONS,
  retries: option('word', choice('node', 'broker'), 'node', "`'broker'`: the broker tries jobs again, and keeps the dead ones, by its own rules"),
  maxRequeues: option('times', countFrom(0), 20, 'how often a message may return without an attempt, where the broker does not count that'),
  memory: option('jobs', countFrom(1), 10_000, 'finished deliveries, and revoked ids, that are recognised'),
} satisfies OptionTable<RuntimeOptions>

/** The options as the runtime uses them: checked, defaults filled in. */
export type RuntimeSettings = OptionValues<typeof RUNTIME_OPTIONS>

/** Throws TypeError naming the option. */
export const runtimeSettings = (options: RuntimeOptions): RuntimeSettings => readOptions(RUNTIME_OPTIONS, 'Runtime', options)
