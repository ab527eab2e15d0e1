import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode } from '../exit.js'
import { readBroker } from '../settings/broker.js'
import { type Flags, readSetting } from '../settings/setting.js'
import { nodeName } from '../settings/values.js'
import { onSignals } from '../signals.js'

/** The dashboard of any node, over the control exchange. */
export const top = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  if (context.stdin.isTTY !== true || context.stdout.isTTY !== true)
    throw new CommandError('prefork top needs a terminal. For a script: prefork control stats.', EXIT.usage)
  const node = readSetting({ flag: '--node', variable: undefined, reader: nodeName }, flags, context.env)
  const farm = await context.farm()
  const client = await farm.createControlClient(readBroker(flags, context.env), { timeout: 10_000 })
  const { openRemote } = await import('../../dashboard/open.js')
  let quit = (): void => {}
  let fail = (_: unknown): void => {}
  const closed = new Promise<void>((resolve, reject) => {
    quit = resolve
    fail = reject
  })
  // Before the dashboard opens: a signal without a listener would end the process and leave the terminal in its mode.
  const stopListening = onSignals(context.signals, { stop: quit, quiet: () => false, resume() {} })
  const close = await openRemote(client, { node, onQuit: quit, onFailure: fail })
  try {
    await closed
    return EXIT.ok
  } finally {
    stopListening()
    await close()
    await client.close()
  }
}
