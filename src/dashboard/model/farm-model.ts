import type { FarmEvent } from '../../runtime/report/report.js'
import { NodeModel } from './node-model.js'

/** ms without an event after which a node is removed from the list. */
const FORGET_AFTER = 60_000

/** All nodes, as their events describe them. */
export class FarmModel {
  readonly #byName = new Map<string, NodeModel>()

  apply(event: FarmEvent, now: number): void {
    let node = this.#byName.get(event.node)
    if (node === undefined) {
      node = new NodeModel(event.node)
      this.#byName.set(event.node, node)
    }
    node.apply(event, now)
  }

  /** By name. `kept`: a node that stays in the list, however old its last event is. */
  nodes(now: number, kept?: string): NodeModel[] {
    for (const [name, node] of this.#byName) if (name !== kept && now - node.lastEvent > FORGET_AFTER) this.#byName.delete(name)
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  get(name: string): NodeModel | undefined {
    return this.#byName.get(name)
  }
}
