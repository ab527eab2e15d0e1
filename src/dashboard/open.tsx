import { render } from 'ink'
import type { ControlClient } from '../node/broker.js'
import type { FarmNode } from '../node/types.js'
import { Controller, type ControllerOptions } from './controller.js'
import type { DeadLetters } from './model/dead-letters.js'
import { LocalSource, RemoteSource } from './model/farm-source.js'
import type { LogTail } from './model/log-tail.js'
import { enterAlternateScreen } from './terminal/alternate-screen.js'
import { App } from './view/app.js'

interface EndListeners extends Pick<ControllerOptions, 'onQuit'> {
  /** Drawing has failed; the terminal is restored. */
  onFailure(error: unknown): void
}

/** Shows the node of this process until the function that it resolves with is called. */
export const openLocal = (node: FarmNode, options: { log: LogTail; deadLetters: DeadLetters } & EndListeners): Promise<() => Promise<void>> =>
  open({ source: new LocalSource(node), node: node.name, only: true, ...options, quitQuestion: 'Drain and stop this node?' })

/** Shows the nodes of a broker until the function that it resolves with is called. */
export const openRemote = (
  client: ControlClient,
  options: { node: string | undefined; deadLetters: DeadLetters } & EndListeners,
): Promise<() => Promise<void>> => open({ source: new RemoteSource(client), ...options })

const open = async (options: ControllerOptions & EndListeners): Promise<() => Promise<void>> => {
  const controller = new Controller(options)
  let stopDrawing = (): void => {}
  const restoreTerminal = enterAlternateScreen(process.stdout, process.stdin, () => stopDrawing())
  // `keys.ts` handles Ctrl-C. Nothing else prints while the dashboard is open.
  const ink = render(<App controller={controller} />, { exitOnCtrlC: false, patchConsole: false, maxFps: 10 })
  stopDrawing = () => ink.unmount()
  ink.waitUntilExit().catch((error: unknown) => {
    restoreTerminal()
    options.onFailure(error)
  })
  const close = async (): Promise<void> => {
    restoreTerminal()
    await options.source.close()
  }
  try {
    await controller.open()
  } catch (error) {
    await close()
    throw error
  }
  return close
}
