import { decodeJob, type JobMessage, MAX_ENCODED_SIZE } from '../../runtime/message/job.js'
import { type Check, choice, milliseconds, nonEmptyString, OptionError, plainObject } from '../../util/checks.js'
import { type OptionTable, option, readOptions } from '../../util/option-table.js'
import { bufferOf } from '../broker/outcome.js'
import { type JobDefaults, readAddOptions } from '../jobs/add-options.js'
import { encodeCall, storedOptions, type TargetQueue } from '../jobs/new-job.js'
import { checkTiming } from '../schedules/check-timing.js'
import type { StoredSchedule } from '../store/store.js'

/** Options of a schedule without its task. Exactly one of `cron` and `every`. */
export interface ScheduleOptions {
  /** A cron pattern of five fields, or six with seconds first. Default none. */
  cron?: string
  /** ms between two ticks; the first is one interval after the schedule was stored. Default none. */
  every?: number
  /** The time zone of `cron`, such as 'Europe/Berlin'. Default that of the process which adds its jobs. */
  timeZone?: string
  /** What runs of the ticks that were missed while no node was there: the last, none, or each. Default 'one'. */
  catchUp?: 'one' | 'none' | 'all'
  /** Options of its jobs; not `delay` and `ttl`. Default the queue's. */
  options?: Omit<JobDefaults, 'delay' | 'ttl'> & { context?: unknown }
}

/** A schedule of a queue. */
export interface QueueSchedule extends Omit<ScheduleOptions, 'options'> {
  readonly key: string
  readonly task: string
  readonly args: readonly unknown[]
  /** When its next job is added, ms since the epoch; undefined: never. */
  readonly nextAt: number | undefined
}

const any: Check<unknown> = (_, value) => value

export const SCHEDULE_OPTIONS = {
  cron: option('text', nonEmptyString, undefined, 'a cron pattern; five fields, or six with seconds first'),
  every: option('ms', milliseconds, undefined, 'time between two ticks'),
  timeZone: option('text', nonEmptyString, undefined, 'the time zone of `cron`', "the process's"),
  catchUp: option('word', choice('one', 'none', 'all'), 'one', "`'one'`, `'none'` or `'all'`: what runs of missed ticks"),
  options: option('object', any, undefined, 'options of its jobs', "the queue's"),
  task: option('text', any, undefined, 'the task', 'required'),
  args: option('array', any, undefined, 'its arguments', 'required'),
} satisfies OptionTable<ScheduleOptions & { task: string; args: readonly unknown[] }>

/** A schedule as it is stored. Throws TypeError naming the option. */
export const storedSchedule = (queue: TargetQueue, given: unknown): StoredSchedule => {
  const { cron, every, timeZone, catchUp, options, task, args } = readOptions(SCHEDULE_OPTIONS, 'queue.schedule', plainObject('schedule', given))
  if (cron === undefined && every === undefined)
    throw new TypeError("Option 'cron' or option 'every' is missing: a pattern such as '0 9 * * 1-5', or the time between two ticks in milliseconds.")
  if (cron !== undefined && every !== undefined) throw new TypeError("Option 'cron' and option 'every' were both given: give one of them.")
  if (timeZone !== undefined && cron === undefined) throw new OptionError('timeZone', "is for 'cron', and there is 'every'")
  const timing = {
    ...(cron === undefined ? undefined : { cron }),
    ...(every === undefined ? undefined : { every }),
    ...(timeZone === undefined ? undefined : { timeZone }),
  }
  checkTiming(timing)
  // Its jobs are added when they are due, and wait from then on.
  const { delay: _, ttl: __, ...defaults } = queue.defaults
  const settings = readAddOptions('queue.schedule', defaults, options)
  for (const name of ['id', 'delay', 'runAt', 'ttl', 'dependsOn', 'onFailedDependency', 'dedup'])
    if (options !== undefined && (options as Record<string, unknown>)[name] !== undefined)
      throw new OptionError(`options.${name}`, 'is no option of a schedule')
  return {
    ...timing,
    catchUp,
    task: task as string,
    body: encodeCall('queue.schedule', task, args, settings.context, queue.maxBodySize),
    options: storedOptions(settings),
    priority: settings.priority ?? 0,
  }
}

export const shownSchedule = ({ key, body, nextAt, task, cron, every, timeZone, catchUp }: StoredSchedule & { readonly key: string }): QueueSchedule => {
  const { args } = decodeJob(
    bufferOf(body),
    { contentType: undefined, contentEncoding: undefined, schemaVersion: 1 },
    { maxBodySize: MAX_ENCODED_SIZE },
  ) as JobMessage
  const timing = cron === undefined ? { every: every! } : { cron, ...(timeZone === undefined ? undefined : { timeZone }) }
  return { key, ...timing, catchUp, task, args, nextAt }
}
