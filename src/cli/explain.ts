import { CommanderError } from 'commander'
import type { OptionTerms } from '../amqp/errors.js'
import { CommandError, EXIT, type ExitCode } from './exit.js'
import { BROKER_SOURCES } from './settings/broker.js'
import { NODE_SOURCES } from './settings/work.js'

/** The broker cannot be used. */
const BROKER_CODES: ReadonlySet<unknown> = new Set([
  ...['ERR_PREFORK_BROKER', 'ERR_PREFORK_PUBLISH', 'ERR_PREFORK_CONTROL', 'ERR_PREFORK_FAKTORY', 'ERR_PREFORK_CONNECTION_LOST'],
  ...['ERR_PREFORK_STORE_FULL', 'ERR_PREFORK_STORE_CORRUPT', 'ERR_PREFORK_STORE_REMOVED', 'ERR_PREFORK_STORE_UNSUPPORTED', 'ERR_PREFORK_STORE_UNUSABLE'],
])

/** The line and the exit code of an error that ends the command. */
export const explain = (error: unknown, typed: readonly string[]): [line: string | undefined, code: ExitCode] => {
  if (error instanceof CommanderError) return explainUsage(error, typed)
  if (error instanceof CommandError) return [oneLine(error.message), error.exitCode]
  const refusal = refusalOf(error)
  if (refusal !== undefined) return [oneLine(refusal), EXIT.usage]
  // By its code: the library is another bundle, with classes of its own.
  const { code } = (error ?? {}) as { code?: unknown }
  if (code === 'ERR_PREFORK_AMQPLIB_MISSING') return [oneLine(`${messageOf(error)}. ${OTHER_BROKERS}`), EXIT.failed]
  // An argument of the command: the errors of tasks are CommandErrors.
  if (code === 'ERR_PREFORK_SERIALIZATION') return [oneLine(`The arguments cannot be sent: ${messageOf(error)}`), EXIT.usage]
  const exitCode = BROKER_CODES.has(code) ? EXIT.broker : EXIT.failed
  return [oneLine(messageOf(error)), exitCode]
}

const OTHER_BROKERS =
  'Jobs are at RabbitMQ unless another place is named: --broker tcp://:password@host:7419 (or FAKTORY_URL) is a Faktory server, --broker sqlite:./jobs.db a queue in a file, and neither needs a package.'

const explainUsage = (error: CommanderError, typed: readonly string[]): [line: string | undefined, code: ExitCode] => {
  // Without a command commander prints the help, and there is nothing to add.
  if (error.code === 'commander.help') return [undefined, EXIT.usage]
  const commands = typed.filter((each) => /^[a-z_]+$/.test(each)).slice(0, ['control', 'dlq', 'queue'].includes(typed[0] ?? '') ? 2 : 1)
  // An unknown command has no help of its own.
  if (error.code === 'commander.unknownCommand') commands.pop()
  const told = `${oneLine(error.message.replace(/^error: /, '').replace(/\.$/, ''))}${isBefore(error, commands, typed) ? misplaced(commands) : ''}`
  return [`${told}. Try: ${['prefork', ...commands, '--help'].join(' ')}`, EXIT.usage]
}

/** A flag that is unknown because it stands before the command. */
const isBefore = (error: CommanderError, commands: readonly string[], typed: readonly string[]): boolean => {
  const flag = error.code === 'commander.unknownOption' ? /'(-[^'=]*)/.exec(error.message)?.[1] : undefined
  if (flag === undefined || commands.length === 0) return false
  return typed.findIndex((each) => each === flag || each.startsWith(`${flag}=`)) < typed.indexOf(commands.at(-1)!)
}

const misplaced = (commands: readonly string[]): string => `: the flags of '${commands.join(' ')}' stand after it, not before`

const SCHEDULE_SOURCES = { cron: '--cron', every: '--every', timeZone: '--time-zone' }
const SOURCES: Readonly<Record<string, string>> = { ...NODE_SOURCES, ...BROKER_SOURCES, ...SCHEDULE_SOURCES }

/** An option that the library refuses, under the name of its flag or variable. Undefined for any other error. */
const refusalOf = (error: unknown): string | undefined => {
  const { option, reason } = (error ?? {}) as { option?: unknown; reason?: unknown }
  if (!(error instanceof TypeError) || typeof option !== 'string' || typeof reason !== 'string') return undefined
  const source = Object.hasOwn(SOURCES, option) ? SOURCES[option] : undefined
  if (source === undefined) return undefined
  // The library takes the contents of these files, a variable their path.
  return /^tls\.(ca|cert|key)$/.test(option) ? `${source} must name a PEM file, with its line '-----BEGIN …'.` : `${source} ${reason}.`
}

/** How the command line names the options in messages of the broker. */
const TERMS: OptionTerms = {
  declaration: `${BROKER_SOURCES.queueType} and ${BROKER_SOURCES.priorityLevels}`,
  noDeclare: undefined,
  ca: 'RABBITMQ_TLS_CA',
  servername: 'RABBITMQ_TLS_SERVERNAME',
  clientCertificate: 'RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY',
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { messageIn } = error as { messageIn?: (terms: OptionTerms) => string }
  return messageIn?.(TERMS) ?? (error.message || error.name)
}

const oneLine = (text: string): string =>
  text
    .split(/\s*\n\s*/)
    .filter((each) => each !== '')
    .join(' ')
