import type { ControlClient } from '../../node/broker.js'
import type { Command } from '../../runtime/report/commands.js'
import { isNodeStats } from '../../runtime/report/read-report.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import type { FarmSource } from './source.js'

/** ms */
const FIRST_ANSWERS = 1_000
const ANSWER = 5_000

/** All nodes of a broker, over the control exchange. */
export class RemoteSource implements FarmSource {
  private unlisten: (() => Promise<void>) | undefined

  constructor(private readonly client: ControlClient) {}

  async open(receive: (event: FarmEvent) => void): Promise<void> {
    this.unlisten = await this.client.listen(receive)
    // Not waited for: what is missed is heard with the next heartbeat.
    this.greet(receive).catch(() => {})
  }

  private async greet(receive: (event: FarmEvent) => void): Promise<void> {
    for await (const answer of this.client.ask('all', { command: 'stats' }, { timeout: FIRST_ANSWERS })) {
      if (answer.ok && isNodeStats(answer.value)) receive({ type: 'node.heartbeat', node: answer.node, at: Date.now(), stats: answer.value })
    }
  }

  async ask(node: string, command: Command): Promise<unknown> {
    for await (const answer of this.client.ask([node], command, { timeout: ANSWER })) {
      if (!answer.ok) throw new Error(answer.error)
      return answer.value
    }
    throw new Error(`no answer within ${ANSWER / 1_000} s`)
  }

  async close(): Promise<void> {
    await this.unlisten?.()
  }
}
