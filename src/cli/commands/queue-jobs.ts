import type { JobQuery, Queue, QueueScheduleOptions } from '../../queue/index.js'
import { JOB_STATES, type JobState } from '../../queue/store/store.js'
import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode, UsageError } from '../exit.js'
import { toJsonLine } from '../output/output-stream.js'
import { type BrokerSettings, readBroker } from '../settings/broker.js'
import { type Flags, readSetting, type Setting } from '../settings/setting.js'
import { count, duration, type Reader } from '../settings/values.js'
import { readArguments } from './publish.js'

const states: Reader<JobState[]> = {
  wants: `one or several of ${JOB_STATES.join(', ')}`,
  read(text) {
    const given = text.split(',').map((each) => each.trim())
    return given.every((each): each is JobState => (JOB_STATES as readonly string[]).includes(each)) ? given : undefined
  },
}
const text = (what: string): Reader<string> => ({ wants: what, read: (given) => (given.trim() === '' ? undefined : given) })
const catchUp: Reader<'one' | 'none' | 'all'> = {
  wants: 'one, none or all',
  read: (text) => (text === 'one' || text === 'none' || text === 'all' ? text : undefined),
}

const QUERY = {
  states: { flag: '--state', reader: states },
  task: { flag: '--task', reader: text('the name of a task') },
  limit: { flag: '--limit', reader: count(1, 1_000) },
  after: { flag: '--after', reader: count(0) },
} as const satisfies { [K in keyof JobQuery]?: Setting<unknown> }

const TIMING = {
  cron: { flag: '--cron', reader: text("a cron pattern, such as '0 9 * * 1-5'") },
  every: { flag: '--every', reader: duration() },
  timeZone: { flag: '--time-zone', reader: text('a time zone, such as Europe/Berlin') },
  catchUp: { flag: '--catch-up', reader: catchUp },
} as const satisfies { [K in keyof QueueScheduleOptions]?: Setting<unknown> }

const readAll = (settings: Readonly<Record<string, Setting<unknown>>>, flags: Flags): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings)
      .map(([name, setting]) => [name, readSetting(setting, flags, {})] as const)
      .filter(([, value]) => value !== undefined),
  )

/** Calls `use` with each queue that is named, one after the other. */
const eachQueue = async (flags: Flags, context: CliContext, use: (queue: Queue) => Promise<void>): Promise<void> => {
  const broker = readBroker(flags, context.env)
  const farm = await context.farm(broker)
  if (farm.withQueue === undefined) throw notInFile()
  for (const queue of broker.queues) await farm.withQueue(broker, queue, use)
}

const notInFile = (): UsageError =>
  new UsageError(
    'prefork queue is for a queue in a file: --broker sqlite:./jobs.db. For RabbitMQ and Faktory there are prefork control, prefork dlq and prefork purge.',
  )

const oneQueue = ({ queues }: BrokerSettings): void => {
  if (queues.length > 1) throw new UsageError(`One queue, please: --queue names ${queues.length}.`)
}

/** Prints how many jobs there are in each state, and the settings: a line of JSON for each queue. */
export const counts = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  await eachQueue(flags, context, async (queue) => {
    context.stdout.write(`${toJsonLine({ queue: queue.name, ...(await queue.settings()), ...(await queue.counts()) })}\n`)
  })
  return EXIT.ok
}

/** Prints jobs, the oldest first: a line of JSON for each. */
export const list = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  const query = readAll(QUERY, flags)
  await eachQueue(flags, context, async (queue) => {
    for (const job of await queue.jobs(query)) context.stdout.write(`${toJsonLine(job)}\n`)
  })
  return EXIT.ok
}

/** Prints a job with its arguments, progress, error and history. */
export const show = async (id: string, flags: Flags, context: CliContext): Promise<ExitCode> => {
  let found = 0
  await eachQueue(flags, context, async (queue) => {
    const details = await (await queue.job(id))?.details()
    if (details === undefined) return
    found++
    context.stdout.write(`${toJsonLine(details)}\n`)
  })
  if (found === 0)
    throw new CommandError(`There is no job '${id}' in ${readBroker(flags, context.env).queues.join(', ')}: prefork queue list shows the jobs.`, EXIT.failed)
  return EXIT.ok
}

/** Pauses the queues, or lets them go on. */
export const setPaused = async (paused: boolean, flags: Flags, context: CliContext): Promise<ExitCode> => {
  await eachQueue(flags, context, async (queue) => {
    await (paused ? queue.pause() : queue.resume())
    // Its name may be misspelt. One that has had jobs looks the same once these are kept no longer.
    const isEmpty = Object.values(await queue.counts()).every((jobs) => jobs === 0)
    context.stdout.write(`${queue.name}: ${paused ? 'paused' : 'resumed'}${isEmpty ? '; it has no job, ended or not' : ''}\n`)
  })
  return EXIT.ok
}

const DONE = { cancel: 'cancelled', retry: 'retried', remove: 'removed' } as const

/** Changes jobs: those with these ids, or those that match. */
export const change = async (how: keyof typeof DONE, ids: readonly string[], flags: Flags, context: CliContext): Promise<ExitCode> => {
  const { states, task } = readAll({ states: QUERY.states, task: QUERY.task }, flags) as Pick<JobQuery, 'states' | 'task'>
  const matching = states !== undefined || task !== undefined
  if ([ids.length > 0, matching, flags.all === true].filter(Boolean).length !== 1)
    throw new UsageError(`Which jobs are to be ${DONE[how]}? Name their ids, or say --state or --task, or --all.`)
  if (how === 'remove' && flags.all === true && flags.yes !== true)
    throw new UsageError(`This removes every job of ${readBroker(flags, context.env).queues.join(', ')} that does not run, for good: say --yes.`)
  const query: JobQuery = ids.length > 0 ? { ids } : { ...(states === undefined ? undefined : { states }), ...(task === undefined ? undefined : { task }) }
  const changed = new Set<string>()
  await eachQueue(flags, context, async (queue) => {
    for (const id of await queue[how](query)) changed.add(id)
  })
  context.stdout.write(`${changed.size} ${DONE[how]}.\n`)
  const missing = ids.filter((id) => !changed.has(id))
  if (missing.length > 0)
    throw new CommandError(`Not ${DONE[how]}: ${missing.join(', ')}. prefork queue show tells the state of a job, if it is there.`, EXIT.failed)
  return EXIT.ok
}

/** In the words of the command line. */
const checkTiming = ({ cron, every, timeZone }: Record<string, unknown>): void => {
  if (cron === undefined && every === undefined) throw new UsageError("When? Say --cron, such as '0 9 * * 1-5', or --every, such as 5m.")
  if (cron !== undefined && every !== undefined) throw new UsageError('--cron and --every exclude each other.')
  if (timeZone !== undefined && cron === undefined) throw new UsageError('--time-zone is for --cron: it says where the times of a pattern are.')
}

/** Without a key: prints the schedules. With one: stores it, or with --remove removes it. */
export const schedule = async ([key, task, args]: readonly [string?, string?, string?], flags: Flags, context: CliContext): Promise<ExitCode> => {
  oneQueue(readBroker(flags, context.env))
  const timing = readAll(TIMING, flags)
  if (key !== undefined && flags.remove !== true && task === undefined)
    throw new UsageError("Which task? prefork queue schedule KEY TASK '[arguments]' --every 5m, or --remove.")
  if (task !== undefined && flags.remove !== true) checkTiming(timing)
  await eachQueue(flags, context, async (queue) => {
    if (key === undefined) {
      for (const each of await queue.schedules()) context.stdout.write(`${toJsonLine(each)}\n`)
    } else if (flags.remove === true) {
      if (!(await queue.unschedule(key))) throw new CommandError(`There is no schedule '${key}' in ${queue.name}.`, EXIT.failed)
      context.stdout.write(`${key}: removed\n`)
    } else {
      await queue.schedule(key, { ...timing, task: task!, args: readArguments(args) } as QueueScheduleOptions)
      const { nextAt } = (await queue.schedules()).find((each) => each.key === key)!
      context.stdout.write(`${key}: ${nextAt === undefined ? 'never' : new Date(nextAt).toISOString()}\n`)
    }
  })
  return EXIT.ok
}
