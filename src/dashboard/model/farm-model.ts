import type { FarmEvent } from '../../runtime/report/report.js'
import { NodeModel } from './node-model.js'

/** ms after which a node that went down, or fell silent, is no longer listed. */
const REMEMBERED = 60_000

/** What is known of all nodes, whoever tells it. */
export class FarmModel {
  private readonly byName = new Map<string, NodeModel>()

  take(event: FarmEvent, now: number): void {
    let node = this.byName.get(event.node)
    if (node === undefined) {
      node = new NodeModel(event.node)
      this.byName.set(event.node, node)
    }
    node.take(event, now)
  }

  /** By name. `kept`: stays in the list however long it has been silent. */
  nodes(now: number, kept?: string): NodeModel[] {
    for (const [name, node] of this.byName) if (name !== kept && now - node.heard > REMEMBERED) this.byName.delete(name)
    return [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  get(name: string): NodeModel | undefined {
    return this.byName.get(name)
  }
}
