import { shownArguments } from '../../runtime/report/shown-arguments.js'
import { textWithoutPasswords } from '../../util/redact.js'
import { escapeLine } from '../../util/shown-text.js'
import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode, UsageError } from '../exit.js'
import type { DeadLetter, Farm } from '../farm.js'
import { toJsonLine } from '../output/output-stream.js'
import { brokerKind } from '../settings/address.js'
import { type BrokerSettings, readBroker } from '../settings/broker.js'
import { refuseFlags } from '../settings/faktory.js'
import { type Flags, readSetting } from '../settings/setting.js'
import { count } from '../settings/values.js'

/** Removes the jobs that wait in the queues. This cannot be undone, hence `--yes`. */
export const purge = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  const broker = readBroker(flags, context.env)
  const dead = flags.dead === true
  if (flags.yes !== true) {
    throw new UsageError(`This removes every ${dead ? 'dead letter of' : 'job that waits in'} ${broker.queues.join(', ')}, for good: say --yes.`)
  }
  const farm = await context.farm(broker)
  for (const queue of broker.queues) context.stdout.write(`${queue}: ${await farm.purge(broker, queue, { dead })} removed\n`)
  return EXIT.ok
}

/** Prints the dead letters, oldest first; they stay in their queue. */
export const listDead = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  const limit = readSetting({ flag: '--limit', reader: count(1, 100_000) }, flags, context.env) ?? 100
  const broker = readBroker(flags, context.env)
  if (brokerKind(broker.url) === 'Faktory') refuseFlags(['--queue', '--limit'], flags, broker.url, 'It says only how many jobs are dead in all queues.')
  const farm = await context.farm(broker)
  if (farm.countDeadLetters !== undefined) return showCount(await farm.countDeadLetters(broker), flags, context)
  const found: DeadLetter[] = []
  for (const queue of broker.queues) {
    if (found.length >= limit) break
    found.push(...(await farm.listDeadLetters(broker, queue, { limit: limit - found.length })))
  }
  const letters = flags.arguments === false ? found.map((letter) => ({ ...letter, args: undefined })) : found
  if (flags.json === true || context.stdout.isTTY !== true) {
    for (const letter of letters) context.stdout.write(`${toJsonLine(letter)}\n`)
    return EXIT.ok
  }
  for (const letter of letters) for (const line of linesOf(letter)) context.stdout.write(`${line}\n`)
  context.stdout.write(letters.length === 0 ? 'No dead letters.\n' : `${letters.length} shown (--limit ${limit}).\n`)
  return EXIT.ok
}

/** The one thing that the protocol of Faktory tells about its dead set. */
const showCount = (dead: number, flags: Flags, { stdout }: CliContext): ExitCode => {
  if (flags.json === true || stdout.isTTY !== true) stdout.write(`${toJsonLine({ dead })}\n`)
  else
    stdout.write(
      `${dead === 1 ? '1 job is' : `${dead} jobs are`} dead, in all queues. Faktory has no command that lists them: its web page does, under /morgue.\n`,
    )
  return EXIT.ok
}

const timeOf = (at: number | undefined): string => (at === undefined ? '-' : new Date(at).toISOString())

/** One line, then its arguments, its runs and its stack, indented. */
const linesOf = ({ id, task, args, queue, reason, error, at, attempt, losses, attempts, stack }: DeadLetter): string[] => {
  const details = [
    ...(args === undefined ? [] : [`arguments ${shownArguments({ args })}`]),
    ...attempts.map((run) => `attempt ${run.attempt}, ${timeOf(run.at)} on ${run.node}: ${run.outcome}, ${run.error}`),
    ...(stack?.split('\n') ?? []),
  ]
  const [title] = error.split('\n', 1)
  return [
    `${timeOf(at)}  ${id ?? '(no id)'}  ${task ?? '(unreadable)'}  ${queue}  ${reason}  attempt ${attempt}, losses ${losses}  ${title}`,
    ...details.map((line) => `    ${line}`),
  ].map((line) => escapeLine(textWithoutPasswords(line)))
}

/** Sends dead letters back to the queues that they came from. */
export const retryDead = async (ids: readonly string[], flags: Flags, context: CliContext): Promise<ExitCode> => {
  if (ids.length > 0 && flags.all === true) throw new UsageError('Ids and --all exclude each other.')
  const broker = readBroker(flags, context.env)
  const isFaktory = brokerKind(broker.url) === 'Faktory'
  const list = isFaktory ? "the server's web page shows them, under /morgue" : 'prefork dlq list shows them'
  if (ids.length === 0 && flags.all !== true) throw new UsageError(`Which dead letters? Name their ids (${list}) or say --all.`)
  if (isFaktory && ids.length > 0) refuseFlags(['--queue'], flags, broker.url, 'It looks for the ids in every queue.')
  const farm = await context.farm(broker)
  if (flags.all === true) return await retryAll(farm, broker, context)
  let sent = 0
  for (const queue of broker.queues) sent += await farm.retryDeadLetters(broker, queue, { ids })
  if (sent > 0) context.stdout.write(`${sent} went back to their queues.\n`)
  if (sent < new Set(ids).size)
    throw new CommandError(
      `${missing(ids, sent)} among the dead letters of ${isFaktory ? 'this server: its web page shows them, under /morgue.' : `${broker.queues.join(', ')}: prefork dlq list shows them.`}`,
      EXIT.failed,
    )
  return EXIT.ok
}

/** Names each queue: the jobs that somebody misses may be dead in another. */
const retryAll = async (farm: Farm, broker: BrokerSettings, { stdout }: CliContext): Promise<ExitCode> => {
  for (const queue of broker.queues) stdout.write(`${queue}: ${await farm.retryDeadLetters(broker, queue, {})} went back\n`)
  const dead = (await farm.countDeadLetters?.(broker)) ?? 0
  if (dead > 0) stdout.write(`${dead === 1 ? '1 job is' : `${dead} jobs are`} still dead, in all queues: --queue names others.\n`)
  return EXIT.ok
}

/** The broker reports how many dead letters were retried, but not which. */
const missing = (ids: readonly string[], sent: number): string =>
  sent > 0 ? 'Not all of these ids are' : ids.length === 1 ? `There is no id '${ids[0]}'` : 'None of these ids is'
