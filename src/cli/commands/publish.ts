import { PUBLISH_OPTIONS } from '../../amqp/publishing/publish-options.js'
import { MAX_DELAY } from '../../amqp/topology/delay-steps.js'
import { FOREVER, JOB_DEFAULTS } from '../../queue/jobs/add-options.js'
import { encodeJob } from '../../runtime/message/job.js'
import type { CliContext } from '../cli-context.js'
import { CommandTimeout } from '../command-timeout.js'
import { CommandError, EXIT, type ExitCode, UsageError } from '../exit.js'
import type { CallOutcome, PublishOptions } from '../farm.js'
import { toJson } from '../output/output-stream.js'
import { readBroker, readTimeout, storePath } from '../settings/broker.js'
import { checkLimits, type Environment, type Flags, readSetting, type Setting } from '../settings/setting.js'
import { duration, readerOf, shortTextWith } from '../settings/values.js'

const OPTIONS = {
  delay: { flag: '--delay', reader: duration({ zero: true, max: MAX_DELAY }) },
  ttl: { flag: '--ttl', reader: readerOf(PUBLISH_OPTIONS.ttl) },
  softTimeLimit: { flag: '--soft-time-limit', reader: readerOf(PUBLISH_OPTIONS.softTimeLimit) },
  timeLimit: { flag: '--time-limit', reader: readerOf(PUBLISH_OPTIONS.timeLimit) },
  priority: { flag: '--priority', reader: readerOf(PUBLISH_OPTIONS.priority) },
  maxAttempts: { flag: '--max-attempts', reader: readerOf(PUBLISH_OPTIONS.maxAttempts) },
  correlationId: { flag: '--correlation-id', reader: shortTextWith('an id') },
} as const satisfies { [K in keyof PublishOptions]?: Setting<unknown> }

/** For a queue in a file, which takes more of these. */
const FILE_OPTIONS = {
  ...OPTIONS,
  delay: { flag: '--delay', reader: duration({ zero: true, max: FOREVER }) },
  ttl: { flag: '--ttl', reader: duration({ max: FOREVER }) },
  priority: { flag: '--priority', reader: readerOf(JOB_DEFAULTS.priority) },
} as const

/** Refuses arguments that no message can carry (nested too deeply) before it connects. */
const checkMessage = async (task: string, args: readonly unknown[]): Promise<void> => {
  try {
    await encodeJob({ task, args })
  } catch (error) {
    throw new UsageError(`The arguments cannot be sent: ${(error as Error).message}`)
  }
}

/** The arguments of a task, typed as JSON. */
export const readArguments = (text: string | undefined): unknown[] => {
  if (text === undefined) return []
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`The arguments must be a JSON array, such as '[1, "two"]'; this is no JSON: ${(error as Error).message}`)
  }
  if (!Array.isArray(value)) throw new UsageError(`The arguments must be a JSON array, one element each; for a single one: '[${text}]'.`)
  return value
}

/** The options of the publication. Checked here, where the message can name flags. */
const readOptions = (flags: Flags, env: Environment, isFile: boolean): PublishOptions => {
  const settings = Object.entries<Setting<unknown>>(isFile ? FILE_OPTIONS : OPTIONS)
  const options: PublishOptions = Object.fromEntries(settings.map(([option, setting]) => [option, readSetting(setting, flags, env)]))
  checkLimits(options)
  const { ttl, delay } = options
  if (ttl !== undefined && delay !== undefined && ttl <= delay) throw new UsageError('--ttl must be more than --delay, or the job expires before it may begin.')
  return options
}

const unconfirmedBy = ({ shown }: CommandTimeout): string =>
  `RabbitMQ did not confirm the job within ${shown}, so that it may be stored or not. Does it hold back publishers (an alarm of memory or disk)?`

const noAnswer = ({ job }: Extract<CallOutcome, { kind: 'timeout' }>, { shown }: CommandTimeout): string => {
  const longer = '--timeout 5m waits longer.'
  if (job === undefined)
    return `No answer within ${shown}. The job may still run: is a node at work on this queue, and knows the task? prefork dlq list shows jobs that were given up; ${longer}`
  const { id, state, error } = job
  const why = error === undefined ? 'Is a node at work on this queue?' : `Its last error: ${error}${/[.!?]$/.test(error) ? '' : '.'}`
  return `No answer within ${shown}. The job goes on; it is ${state} now. ${why} prefork queue show ${id} tells more; ${longer}`
}

/** Publishes one job; prints its id, or with `--wait` its result as JSON. */
export const publish = async (task: string, args: string | undefined, flags: Flags, context: CliContext): Promise<ExitCode> => {
  if (task === '') throw new UsageError("The task must be the name of a task; it was given ''.")
  const given = readArguments(args)
  await checkMessage(task, given)
  const broker = readBroker(flags, context.env)
  const isFile = storePath(broker.url) !== undefined
  const options = readOptions(flags, context.env, isFile)
  const timeout = readTimeout(flags) ?? (flags.wait === true ? 60_000 : 10_000)
  const farm = await context.farm(broker)
  const deadline = new CommandTimeout(timeout)
  const unconfirmed = isFile
    ? `The job was not stored within ${deadline.shown}, and may be stored yet. Is the file locked, or its disk full?`
    : unconfirmedBy(deadline)
  const publisher = await farm.createPublisher(broker, { timeout: deadline.connectTimeout })
  try {
    if (flags.wait !== true) {
      const id = await deadline.bound(publisher.publish(task, given, options), unconfirmed)
      context.stdout.write(`${id}\n`)
      return EXIT.ok
    }
    const outcome = await publisher.call(task, given, { ...options, timeout: deadline.left })
    switch (outcome.kind) {
      case 'result':
        context.stdout.write(`${toJson(outcome.value)}\n`)
        return EXIT.ok
      case 'failed': {
        const { error } = outcome
        // Here the task may have succeeded, and its result cannot be sent: the message says which.
        const how = (error as { code?: unknown }).code === 'ERR_PREFORK_SERIALIZATION' ? '' : ' failed'
        throw new CommandError(`${task}${how}: ${error.name}: ${error.message}`, EXIT.refused, { cause: error })
      }
      case 'unconfirmed':
        throw new CommandError(unconfirmed, EXIT.broker)
      case 'timeout':
        throw new CommandError(noAnswer(outcome, deadline), EXIT.noAnswer)
    }
  } finally {
    await deadline.closing(publisher.close())
  }
}
