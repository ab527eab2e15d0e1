import {
  arrayOf,
  type Check,
  canBeOptions,
  checkLimits,
  countFrom,
  milliseconds,
  nonEmptyString,
  OptionError,
  plainObject,
  refusal,
  refuseUnknownNames,
  shown,
  signalHint,
} from '../../util/checks.js'
import { MAX_JOB_NAME } from '../../util/limits.js'
import { namesOf, type OptionTable, option } from '../../util/option-table.js'
import type { JobDelivery, TaskInfo } from '../../wire/messages.js'
import type { Settings } from '../options.js'
import type { BroadcastOptions, RunOptions } from '../types.js'
import { type CallFunctions, callFunctions } from './calls.js'

const abortSignal: Check<AbortSignal> = (name, value) => {
  if (!(value instanceof AbortSignal)) throw refusal(name, 'an AbortSignal', value)
  return value
}

const finiteNumber: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw refusal(name, 'a finite number (higher first)', value)
  return value
}

const ASK = "'ask' (it settles once its task has ended), or left out (it rejects at once)"

const cancelMode: Check<'ask'> = (name, value) => {
  if (value !== 'ask') throw refusal(name, ASK, value)
  return value
}

const jobName: Check<string> = (name, value) => {
  const text = nonEmptyString(name, value)
  if (text.length > MAX_JOB_NAME) throw new OptionError(name, `must have at most ${MAX_JOB_NAME} characters; it has ${text.length}`)
  return text
}

const NO_BUFFER = '(pass buffer.buffer, not the Buffer)'

const arrayBuffers: Check<readonly ArrayBuffer[]> = (name, given) =>
  arrayOf(name, given, `an array of ArrayBuffers ${NO_BUFFER}`, `an ArrayBuffer ${NO_BUFFER}`, (each) => each instanceof ArrayBuffer)

const delivered: Check<JobDelivery> = (name, value) => plainObject(name, value) as unknown as JobDelivery

/** The options of `pool.broadcast`, which every call of a task takes. */
export const BROADCAST_OPTIONS = {
  timeLimit: option('ms', milliseconds, undefined, 'from acceptance until the worker is killed; an inherited soft limit above it is dropped'),
  softTimeLimit: option('ms', milliseconds, undefined, 'from acceptance until the task is asked to stop'),
  signal: option('signal', abortSignal, undefined, 'an `AbortSignal` that cancels the job, with the reason of the signal'),
  priority: option('number', finiteNumber, 0, 'higher runs first; jobs of one priority run in the order of submission'),
  retryLost: option(
    'count',
    countFrom(0),
    0,
    'how often the job may run again after its worker died; use it for idempotent tasks. A stream runs again only if none of its items has arrived',
  ),
  context: option('value', (_, value) => value, undefined, 'the value of `currentJob().context` in the task'),
  calls: option('functions', callFunctions, undefined, 'an object of functions of the host, which the task calls with `currentJob().call(name, ...args)`'),
  cancel: option(
    'mode',
    cancelMode,
    undefined,
    "`'ask'`: a running job that is cancelled settles as its task does, or, if that does not end within `cancelGrace`, with the reason once its process is gone; by default it rejects at once",
  ),
  calledAs: option(
    'string',
    jobName,
    undefined,
    'what the job is called in errors, events, logs and statistics, and in its task, instead of the name of its task',
  ),
} satisfies OptionTable<BroadcastOptions>

/** The options of `run`, `submit` and `stream`. */
export const RUN_OPTIONS = {
  ...BROADCAST_OPTIONS,
  transfer: option(
    'buffers',
    arrayBuffers,
    undefined,
    '`ArrayBuffer`s among the arguments that are moved instead of copied; the call detaches every buffer listed, also one that is not an argument',
  ),
  delivery: option('object', delivered, undefined, 'how a message broker delivered the job; the value of `currentJob().delivery` in the task'),
  id: option('string', nonEmptyString, undefined, 'the id of the job in logs and events; it need not be unique: two jobs with one id both run', 'generated'),
} satisfies OptionTable<RunOptions>

const NAMES = namesOf(RUN_OPTIONS)

/** The options of a job after the three levels are merged. Limits in ms, 0 for none. */
export interface JobOptions {
  softLimit: number
  hardLimit: number
  signal: AbortSignal | undefined
  priority: number
  retryLost: number
  transfer: readonly ArrayBuffer[] | undefined
  context: unknown
  calls: CallFunctions | undefined
  delivery: JobDelivery | undefined
  id: string | undefined
  cancel: 'ask' | undefined
  calledAs: string | undefined
}

interface Limits {
  softTimeLimit?: number
  timeLimit?: number
}

/** Merges the limits of one level over the inherited limits: a limit that the level names wins. A soft limit above the hard limit in force is dropped. */
const over = (base: { soft: number; hard: number }, level: Limits): { soft: number; hard: number } => {
  const hard = level.timeLimit ?? base.hard
  const soft = level.softTimeLimit ?? base.soft
  if (hard === 0 || soft === 0 || hard >= soft) return { soft, hard }
  // The level's own pair was checked, so one of the two limits is inherited. The hard limit stays, and the soft limit is dropped.
  return { soft: 0, hard }
}

const ownLimits = ({ softTimeLimit, timeLimit }: Record<string, unknown>): Limits => {
  const level: Limits = {}
  if (softTimeLimit !== undefined) level.softTimeLimit = milliseconds('softTimeLimit', softTimeLimit)
  if (timeLimit !== undefined) level.timeLimit = milliseconds('timeLimit', timeLimit)
  checkLimits(level)
  return level
}

/** Merges run options over `defineTask`'s over the pool's. Throws TypeError naming the option; `call`: of the pool, for the text. */
export const mergeOptions = (settings: Settings, task: TaskInfo, given: unknown, call = 'run'): JobOptions => {
  let limits = { soft: settings.softTimeLimit, hard: settings.timeLimit }
  if (task.timeLimit !== undefined || task.softTimeLimit !== undefined) limits = over(limits, task)
  if (given === undefined) {
    return {
      softLimit: limits.soft,
      hardLimit: limits.hard,
      signal: undefined,
      priority: 0,
      retryLost: task.retryLost ?? 0,
      transfer: undefined,
      context: undefined,
      calls: undefined,
      delivery: undefined,
      id: undefined,
      cancel: undefined,
      calledAs: undefined,
    }
  }
  if (!canBeOptions(given)) {
    const found = `they were given ${shown(given)}${signalHint(given, NAMES)}`
    throw new TypeError(`The options of a job are an object: pool.${call}('${task.name}', [arguments], { timeLimit: 5_000 }); ${found}.`)
  }
  refuseUnknownNames(`pool.${call}('${task.name}', …)`, given, NAMES)
  const options = given as Record<string, unknown>
  if (options.softTimeLimit !== undefined || options.timeLimit !== undefined) limits = over(limits, ownLimits(options))
  const { signal, priority, retryLost, transfer, context, calls, delivery, id, cancel, calledAs } = options
  // Each check is called where it is used, not from one loop over the table: a call site that sees one function stays fast.
  return {
    softLimit: limits.soft,
    hardLimit: limits.hard,
    signal: signal === undefined ? undefined : RUN_OPTIONS.signal.check('signal', signal),
    priority: priority === undefined ? 0 : RUN_OPTIONS.priority.check('priority', priority),
    retryLost: retryLost === undefined ? (task.retryLost ?? 0) : RUN_OPTIONS.retryLost.check('retryLost', retryLost),
    transfer: transfer === undefined ? undefined : RUN_OPTIONS.transfer.check('transfer', transfer),
    context,
    calls: calls === undefined ? undefined : RUN_OPTIONS.calls.check('calls', calls),
    delivery: delivery === undefined ? undefined : RUN_OPTIONS.delivery.check('delivery', delivery),
    id: id === undefined ? undefined : RUN_OPTIONS.id.check('id', id),
    cancel: cancel === undefined ? undefined : RUN_OPTIONS.cancel.check('cancel', cancel),
    calledAs: calledAs === undefined ? undefined : RUN_OPTIONS.calledAs.check('calledAs', calledAs),
  }
}
