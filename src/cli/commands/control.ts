import type { Address, Answer, Command } from '../../runtime/report/commands.js'
import { deferred } from '../../util/with-timeout.js'
import { DEFAULT_PROFILE_MS } from '../../wire/cpu-profile.js'
import type { CliContext } from '../cli-context.js'
import { CONNECT_TIMEOUT, CommandTimeout } from '../command-timeout.js'
import { CommandError, EXIT, type ExitCode, UsageError } from '../exit.js'
import { deadLettersOf } from '../operations/dead-letters.js'
import { toJsonLine } from '../output/output-stream.js'
import { brokerKind } from '../settings/address.js'
import { type BrokerSettings, readBroker, readTimeout } from '../settings/broker.js'
import { readHttp } from '../settings/http.js'
import { type Flags, readSetting } from '../settings/setting.js'
import { nodeNames, nodeNameText } from '../settings/values.js'
import { onSignals } from '../signals.js'

/** Commands that change nothing: without an address they go to all nodes. */
const READ_ONLY = new Set<Command['command']>(['ping', 'snapshot', 'stats', 'stack', 'profile'])

const readAddress = (command: Command, flags: Flags, env: CliContext['env']): Address => {
  const nodes = readSetting({ flag: '--node', reader: nodeNames }, flags, env)
  if (nodes !== undefined && flags.all === true) throw new UsageError('--node and --all exclude each other.')
  if (nodes !== undefined) return nodes
  if (flags.all === true || READ_ONLY.has(command.command)) return 'all'
  throw new UsageError(`${command.command} needs an address: --node NAME (several names separated by commas) or --all. prefork control ping lists the nodes.`)
}

/** Sends a command to nodes. `receive` is called with each answer, and by default prints it as a line of JSON. */
export const control = async (
  command: Command,
  flags: Flags,
  context: CliContext,
  receive: (answer: Answer) => void = (answer) => context.stdout.write(`${toJsonLine(answer)}\n`),
): Promise<ExitCode> => {
  const to = readAddress(command, flags, context.env)
  const broker = readBroker(flags, context.env)
  // A node answers a restart or a shutdown when it begins, not when it has ended.
  const given = readTimeout(flags)
  const answers = (to === 'all' ? 2_000 : 10_000) + (command.command === 'profile' ? (command.ms ?? DEFAULT_PROFILE_MS) : 0)
  const farm = await context.farm(broker)
  // --timeout covers the whole command. Without it, the answers have a time of their own, however long it took to connect.
  const deadline = new CommandTimeout(given ?? CONNECT_TIMEOUT + answers)
  const client = await farm.createControlClient(broker, { timeout: deadline.connectTimeout })
  try {
    const timeout = given === undefined ? answers : deadline.left
    const shown = `${(given ?? answers) / 1_000} s`
    const answered = new Set<string>()
    let refused = false
    const asked = client.ask(to, command, { timeout })
    let next = await asked.next()
    for (; next.done !== true; next = await asked.next()) {
      const answer = next.value
      answered.add(answer.node)
      refused ||= !answer.ok
      receive(answer)
    }
    const late = next.value as number | undefined
    const silent = to === 'all' ? [] : to.filter((node) => !answered.has(node))
    if (silent.length > 0 || answered.size === 0) throw new CommandError(noAnswer(broker, command, silent, shown), EXIT.noAnswer)
    if (to === 'all' && late !== undefined && late > 0) throw new CommandError(tooLate(broker, late, shown), EXIT.noAnswer)
    return refused ? EXIT.refused : EXIT.ok
  } finally {
    await deadline.closing(client.close())
  }
}

/** Where nodes find each other that have control sockets. Undefined: the broker carries their commands. */
const socketsOf = ({ url, control }: BrokerSettings): string | undefined => (brokerKind(url) === 'RabbitMQ' ? undefined : (control ?? url))

const tooLate = (broker: BrokerSettings, nodes: number, shown: string): string =>
  `${nodes === 1 ? 'Another node is' : `${nodes} other nodes are`} at work on ${socketsOf(broker)}, with no answer within ${shown}: suspended, or busy.`

/** `silent`: the nodes that were named; none: all were asked. */
const noAnswer = (broker: BrokerSettings, { command }: Command, silent: readonly string[], shown: string): string => {
  const from = silent.join(', ')
  // All nodes are not waited for as long as a named one.
  const native = command === 'profile' && from === '' ? ' A worker in native code takes up to 5 s longer: name its node with --node.' : ''
  // Nodes with sockets are known: only one that is there is waited for.
  const sockets = socketsOf(broker)
  if (sockets !== undefined) return `${from === '' ? 'No node' : `No node ${from}`} is at work on ${sockets}, or it does not answer within ${shown}.${native}`
  const first = from === '' ? `No node answered within ${shown}.` : `No answer within ${shown} from ${from}.`
  return `${first} Is it at work, on this broker and these exchanges${broker.secret === undefined ? ', and without a secret (ASYNC_FARM_SECRET)' : ', with the same ASYNC_FARM_SECRET'}?${native}`
}

/** The dashboard of any node, over the broker. */
export const top = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  const http = readHttp(flags, context.env)
  if (http !== undefined) return await (await import('./top-http.js')).topHttp(http, flags, context)
  if (context.stdin.isTTY !== true || context.stdout.isTTY !== true)
    throw new CommandError('prefork top needs a terminal. For a script: prefork control stats.', EXIT.usage)
  const node = readSetting({ flag: '--node', reader: nodeNameText }, flags, context.env)
  const broker = readBroker(flags, context.env)
  const farm = await context.farm(broker)
  const client = await farm.createControlClient(broker, { timeout: 10_000 })
  const { openRemote } = await import('../../dashboard/open.js')
  const { promise: closed, resolve: quit, reject: fail } = deferred()
  // Before the dashboard opens: a signal without a listener would end the process and leave the terminal in its mode.
  const stopListening = onSignals(context.signals, { stop: () => quit(), quiet: () => false, resume() {} })
  const close = await openRemote(client, { node, deadLetters: deadLettersOf(farm, broker, flags), onQuit: quit, onFailure: fail })
  try {
    await closed
    return EXIT.ok
  } finally {
    stopListening()
    await close()
    await client.close()
  }
}
