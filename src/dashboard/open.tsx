import { render } from 'ink'
import type { ControlClient } from '../node/broker.js'
import type { FarmNode } from '../node/types.js'
import { Controller, type ControllerOptions } from './controller.js'
import { LocalSource } from './model/local-source.js'
import type { LogTail } from './model/log-tail.js'
import { RemoteSource } from './model/remote-source.js'
import { takeScreen } from './terminal/screen.js'
import { App } from './view/app.js'

interface Ends {
  /** Ctrl-C, and `q`. */
  onQuit(): void
  /** The picture has failed, and the terminal is as it was. */
  onFailure(error: unknown): void
}

/** Shows the node of this process until the function that it resolves with is called. */
export const openLocal = (node: FarmNode, { log, ...ends }: { log: LogTail } & Ends): Promise<() => Promise<void>> =>
  open({ source: new LocalSource(node), node: node.name, log, ...ends, quitQuestion: 'Drain and stop this node?' })

/** Shows the nodes of a broker until the function that it resolves with is called. */
export const openRemote = (client: ControlClient, { node, ...ends }: { node: string | undefined } & Ends): Promise<() => Promise<void>> =>
  open({ source: new RemoteSource(client), node, ...ends })

const open = async (options: ControllerOptions & Ends): Promise<() => Promise<void>> => {
  const controller = new Controller(options)
  let stopDrawing = (): void => {}
  const giveBack = takeScreen(process.stdout, process.stdin, () => stopDrawing())
  // Ctrl-C is a key like others; what is printed meanwhile would tear the picture, and is not expected.
  const picture = render(<App controller={controller} />, { exitOnCtrlC: false, patchConsole: false, maxFps: 10 })
  stopDrawing = () => picture.unmount()
  picture.waitUntilExit().catch((error: unknown) => {
    giveBack()
    options.onFailure(error)
  })
  const close = async (): Promise<void> => {
    giveBack()
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
