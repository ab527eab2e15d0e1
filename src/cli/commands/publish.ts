import { encodeJob } from '../../runtime/message/job.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { withoutPassword } from '../../util/redact.js'
import type { CliContext } from '../cli-context.js'
import { CommandTimeout } from '../command-timeout.js'
import { CommandError, EXIT, type ExitCode, UsageError } from '../exit.js'
import type { CallOutcome } from '../farm.js'
import { toJson } from '../output/output-stream.js'
import { type BrokerKind, brokerKind } from '../settings/address.js'
import { readBroker, readTimeout } from '../settings/broker.js'
import { readPublishOptions } from '../settings/publish.js'
import type { Flags } from '../settings/setting.js'
import { alteredInteger } from '../settings/values.js'

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
  const altered = alteredInteger(text)
  if (altered !== undefined)
    throw new UsageError(`The number ${altered} cannot be sent, as it would be read as ${Number(altered)}: send it as a text, "${altered}".`)
  if (!Array.isArray(value)) throw new UsageError(`The arguments must be a JSON array, one element each; for a single one: '[${text}]'.`)
  return value
}

const unconfirmedBy = ({ shown }: CommandTimeout, kind: BrokerKind): string => {
  if (kind === 'RabbitMQ')
    return `RabbitMQ did not confirm the job within ${shown}, so that it may be stored or not. Does it hold back publishers (an alarm of memory or disk)?`
  return kind === 'Faktory'
    ? `Faktory did not answer within ${shown}, so that the job may be stored or not.`
    : `The job was not stored within ${shown}, and may be stored yet. Is the file locked, or its disk full?`
}

const noAnswer = ({ job }: Extract<CallOutcome, { kind: 'timeout' }>, { shown }: CommandTimeout): string => {
  const longer = '--timeout 5m waits longer.'
  if (job === undefined)
    return `No answer within ${shown}. The job may still run: is a node at work on this queue, and knows the task? prefork dlq list shows jobs that were given up; ${longer}`
  const { id, state, error } = job
  const why = error === undefined ? 'Is a node at work on this queue?' : `Its last error: ${error}${/[.!?]$/.test(error) ? '' : '.'}`
  return `No answer within ${shown}. The job goes on; it is ${state} now. ${why} prefork queue show ${id} tells more; ${longer}`
}

/** ms after which somebody at a terminal is told what is waited for. */
const NOTICE_AFTER = 1_500

const withNotice = async <T>(connecting: Promise<T>, url: string, { connectTimeout }: CommandTimeout, { stderr }: CliContext): Promise<T> => {
  const announce = (): void => void stderr.write(`prefork: ${withoutPassword(url)} does not answer yet; it is tried for ${connectTimeout / 1_000} s.\n`)
  const timer = stderr.isTTY === true ? setTimeout(announce, NOTICE_AFTER) : undefined
  try {
    return await connecting
  } finally {
    clearTimeout(timer)
  }
}

/** Publishes one job; prints its id, or with `--wait` its result as JSON. */
export const publish = async (task: string, args: string | undefined, flags: Flags, context: CliContext): Promise<ExitCode> => {
  if (task === '') throw new UsageError("The task must be the name of a task; it was given ''.")
  const given = readArguments(args)
  await checkMessage(task, given)
  const broker = readBroker(flags, context.env)
  if (broker.weights !== undefined && flags.queue !== undefined)
    throw new UsageError(`--queue: a job goes to one queue, which has no weight here: --queue ${broker.queues[0]}.`)
  const options = readPublishOptions(flags, context.env, broker.url)
  const timeout = readTimeout(flags) ?? (flags.wait === true ? 60_000 : 10_000)
  const farm = await context.farm(broker)
  const deadline = new CommandTimeout(timeout)
  const unconfirmed = unconfirmedBy(deadline, brokerKind(broker.url))
  const publisher = await withNotice(farm.createPublisher(broker, { timeout: deadline.connectTimeout }), broker.url, deadline, context)
  try {
    if (flags.wait !== true) {
      const id = await deadline.bound(publisher.publish(task, given, options), unconfirmed)
      if (id === undefined) context.stderr.write('prefork: Nothing was published: Faktory has such a job already (unique_for).\n')
      else context.stdout.write(`${id}\n`)
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
