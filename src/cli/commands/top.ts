import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode } from '../exit.js'
import { readBroker } from '../settings/broker.js'
import type { Flags } from '../settings/setting.js'
import { readSetting } from '../settings/setting.js'
import { nodeName } from '../settings/values.js'
import { onSignals } from '../signals.js'

/** The dashboard, against any node, over the control exchange. */
export const top = async (flags: Flags, around: CliContext): Promise<ExitCode> => {
  if (around.stdin.isTTY !== true || around.stdout.isTTY !== true)
    throw new CommandError('prefork top needs a terminal. For a script: prefork control stats.', EXIT.usage)
  const node = readSetting({ flag: '--node', variable: undefined, reader: nodeName }, flags, around.env)
  const farm = await around.farm()
  const client = await farm.createControlClient(readBroker(flags, around.env), { timeout: 10_000 })
  const { openRemote } = await import('../../dashboard/open.js')
  let quit = (): void => {}
  let fail = (_: unknown): void => {}
  const asked = new Promise<void>((resolve, reject) => {
    quit = resolve
    fail = reject
  })
  // First: a signal that nobody listens to would leave the terminal as it is.
  const stopListening = onSignals(around.signals, { stop: quit, quiet: () => false, resume() {} })
  const close = await openRemote(client, { node, onQuit: quit, onFailure: fail })
  try {
    await asked
    return EXIT.ok
  } finally {
    stopListening()
    await close()
    await client.close()
  }
}
