import type { Command } from '../../runtime/report/commands.js'
import type { FarmEvent } from '../../runtime/report/report.js'

/** Where the dashboard hears of nodes and steers them: a node of this process, or all of a broker. */
export interface FarmSource {
  /** Begins to call `receive`, soon with a `node.heartbeat` of each node that is up already. */
  open(receive: (event: FarmEvent) => void): Promise<void>
  /** Resolves with what the node answers; rejects with why it would not, or that it is silent. */
  ask(node: string, command: Command): Promise<unknown>
  close(): Promise<void>
}
