import type { FarmNode } from '../../node/types.js'
import type { Command } from '../../runtime/report/commands.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import type { FarmSource } from './source.js'

/** ms between two looks at the node: its figures are at hand, so that they need not wait for a heartbeat. */
const LOOK = 500

/** The node of this process. */
export class LocalSource implements FarmSource {
  private stop: (() => void) | undefined

  constructor(private readonly node: FarmNode) {}

  async open(receive: (event: FarmEvent) => void): Promise<void> {
    const { node } = this
    const look = (): void => receive({ type: 'node.heartbeat', node: node.name, at: Date.now(), stats: node.stats() })
    const unlisten = node.onEvent((event) => {
      if (event.type !== 'node.heartbeat') receive(event)
    })
    const timer = setInterval(look, LOOK)
    this.stop = () => {
      clearInterval(timer)
      unlisten()
    }
    look()
  }

  ask(_: string, command: Command): Promise<unknown> {
    return this.node.command(command)
  }

  async close(): Promise<void> {
    this.stop?.()
  }
}
